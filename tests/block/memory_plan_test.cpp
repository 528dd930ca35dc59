// Places of tensors: those that live at the same time never share a byte, what stays shares with
// nobody, and little is wasted.
#include "coda/block/memory_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "coda/block/call.h"
#include "coda/block/model.h"
#include "coda/train/presets.h"
#include "tests/block/forwarding_device.h"
#include "tests/program/expect_error.h"

namespace coda::block {
namespace {

Node node_of(const std::vector<TensorView>& views) {
  CallNode call{&catalogue::find_operation("square_sums"), nullptr, {}};
  for (const TensorView& view : views) call.call.arguments.push_back(port("x", view));
  return {"node", call};
}

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

int64_t address(const TensorView& view) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(view.data));
}

// A tensor as the test sees it.
struct Declared {
  TensorView view;
  bool stays = false;
  int64_t bytes = 0;
  int list = -1;
  int64_t first = 0, last = 0;
  int64_t offset = 0;
};

struct Drawn {
  MemoryPlan plan;
  std::vector<Declared> tensors;
};

// Some that stay and some that live in one of a few lists, named by random nodes of it.
Drawn draw() {
  Drawn drawn;
  const int lists = *rc::gen::inRange(1, 4);
  const auto count = *rc::gen::inRange(0, 40);
  std::vector<std::vector<std::vector<TensorView>>> named(static_cast<size_t>(lists));
  for (auto& list : named) list.resize(static_cast<size_t>(*rc::gen::inRange(1, 30)));
  for (int i = 0; i < count; ++i) {
    Declared tensor;
    const auto rows = *rc::gen::inRange<int64_t>(0, 20);
    const auto columns = *rc::gen::inRange<int64_t>(0, 200);
    tensor.stays = *rc::gen::inRange(0, 4) == 0;
    tensor.bytes = rows * columns * 4;
    tensor.view = drawn.plan.declare("t", tensor.stays ? Use::kWeights : Use::kActivation,
                                     DType::kFp32, rows, columns);
    tensor.list = *rc::gen::inRange(0, lists);
    auto& list = named[static_cast<size_t>(tensor.list)];
    const auto nodes = static_cast<int64_t>(list.size());
    tensor.first = *rc::gen::inRange<int64_t>(0, nodes);
    tensor.last = *rc::gen::inRange<int64_t>(tensor.first, nodes);
    for (const int64_t at : {tensor.first, (tensor.first + tensor.last) / 2, tensor.last}) {
      list[static_cast<size_t>(at)].push_back(tensor.view);
    }
    drawn.tensors.push_back(tensor);
  }
  for (const auto& list : named) {
    Nodes nodes;
    for (const auto& views : list) nodes.push_back(node_of(views));
    drawn.plan.add(nodes);
  }
  drawn.plan.place();
  for (Declared& tensor : drawn.tensors) {
    tensor.offset = address(drawn.plan.real(tensor.view, nullptr));
  }
  return drawn;
}

RC_GTEST_PROP(MemoryPlan, GivesEveryTensorItsOwnPlace, ()) {
  const Drawn drawn = draw();
  for (const Declared& a : drawn.tensors) {
    RC_ASSERT(a.offset % 256 == 0);
    RC_ASSERT(a.offset >= 0);
    RC_ASSERT(a.offset + a.bytes <= drawn.plan.bytes());
    for (const Declared& b : drawn.tensors) {
      if (&a == &b || a.bytes == 0 || b.bytes == 0) continue;
      const bool together =
          a.stays || b.stays || (a.list == b.list && a.first <= b.last && b.first <= a.last);
      const bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      RC_ASSERT(!together || !overlap);
    }
  }
}

RC_GTEST_PROP(MemoryPlan, CountsItsBytes, ()) {
  const Drawn drawn = draw();
  int64_t stays = 0, live = 0;
  for (const Declared& tensor : drawn.tensors) {
    if (tensor.stays) stays += aligned(tensor.bytes);
  }
  for (int list = 0; list < 4; ++list) {
    for (int64_t at = 0; at < 30; ++at) {
      int64_t now = 0;
      for (const Declared& t : drawn.tensors) {
        const bool lives = !t.stays && t.list == list && t.first <= at && at <= t.last;
        if (lives) now += aligned(t.bytes);
      }
      live = std::max(live, now);
    }
  }
  RC_ASSERT(drawn.plan.live_bytes() == live);
  RC_ASSERT(drawn.plan.bytes(Use::kWeights) == stays);
  RC_ASSERT(drawn.plan.bytes(Use::kActivation) >= live);
  RC_ASSERT(drawn.plan.bytes() == stays + drawn.plan.bytes(Use::kActivation));
}

RC_GTEST_PROP(MemoryPlan, MakesPartsOfTensorsReal, ()) {
  const Drawn drawn = draw();
  alignas(256) static char memory[1 << 20];
  for (const Declared& tensor : drawn.tensors) {
    if (tensor.view.rows < 2) continue;
    const TensorView part = rows_of(tensor.view, 1, 1);
    const TensorView whole = drawn.plan.real(tensor.view, memory);
    const TensorView real_part = drawn.plan.real(part, memory);
    RC_ASSERT(address(real_part) == address(whole) + tensor.view.columns * 4);
    RC_ASSERT(address(drawn.plan.real(whole, memory)) == address(whole));  // real, it stays so
  }
}

TEST(MemoryPlan, TurnsDownWhatItCannotHold) {
  MemoryPlan plan;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {int64_t{1} << 40, 1}, {int64_t{1} << 32, int64_t{1} << 32}, {kMost, kMost}}) {
    expect_error([&] { plan.declare("logits", Use::kInputs, DType::kFp32, rows, columns); },
                 {"logits", "less than 4 TiB", std::to_string(rows)});
  }
  const TensorView shared = plan.declare("x", Use::kActivation, DType::kFp32, 1, 1);
  Nodes nodes = {node_of({shared})};
  plan.add(nodes);
  expect_error([&] { plan.add(nodes); }, {"x", "one list"});
}

// As much memory as is asked for, of which only what is written takes any.
class BoundlessDevice : public ForwardingDevice {
 public:
  ~BoundlessDevice() override {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  int64_t free_bytes() const override { return std::numeric_limits<int64_t>::max(); }
  void* allocate(int64_t bytes) override {
    bytes_ = static_cast<size_t>(bytes);
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw Error("no address space");
    return memory_;
  }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

struct PlannedModel {
  const char* preset;
  int64_t batch, sequence;
};

// A model's activations, for every policy: what backward makes again takes no memory meanwhile, and
// places that nobody can use cost next to nothing: 2 %, or 64 KiB.
TEST(MemoryPlan, WastesNextToNothing) {
  for (const auto& [name, batch, sequence] :
       {PlannedModel{"tiny", 16, 256}, PlannedModel{"small", 8, 512}, PlannedModel{"small", 1, 37},
        PlannedModel{"tiny", 1, 1}, PlannedModel{"1b", 2, 8192}, PlannedModel{"gpt2-tiny", 16, 256},
        PlannedModel{"gpt2-124m", 8, 1024}}) {
    const checkpoint::ModelConfig config = train::preset(name);
    for (const Fold fold : {Fold::kKept, Fold::kFolded}) {
      if (config.is_gpt2() && fold == Fold::kFolded) continue;
      int64_t before = std::numeric_limits<int64_t>::max();
      for (const Recompute recompute :
           {Recompute::kNothing, Recompute::kActivation, Recompute::kBlock}) {
        ModelOptions options;
        options.batch = batch;
        options.sequence = sequence;
        options.recompute = recompute;
        options.fold = fold;
        BoundlessDevice device;
        const Model model(config, options, device);
        const int64_t placed = model.memory().bytes(Use::kActivation);
        const int64_t live = model.memory().live_bytes();  // no plan has less
        EXPECT_LE(placed, live + std::max<int64_t>(live / 50, 64 << 10))
            << name << ", batch " << batch;
        EXPECT_LT(placed, before) << name << " saves nothing by recomputing more";
        before = placed;
      }
    }
  }
}

// Every part has lists of its own, and they share all places.
TEST(MemoryPlan, OfManyPartsIsMadeQuickly) {
  ModelOptions options;
  options.sequence = 64;
  BoundlessDevice one;
  const int64_t bytes = Model(train::preset("1b"), options, one).memory().bytes(Use::kActivation);
  options.parts = 100;
  BoundlessDevice many;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Model(train::preset("1b"), options, many).memory().bytes(Use::kActivation), bytes);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace coda::block
