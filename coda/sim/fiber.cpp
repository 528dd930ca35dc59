#include "coda/sim/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <new>
#include <utility>
#include <vector>

#include "coda/sim/stack_switch.h"

namespace coda::sim {

namespace {

// Stacks of one size are kept for the next fibers: a launch makes hundreds of them per block.
class StackPool {
 public:
  ~StackPool() { drop(); }

  void* take(size_t bytes) {
    if (bytes != bytes_) drop();
    bytes_ = bytes;
    if (!free_.empty()) {
      void* stack = free_.back();
      free_.pop_back();
      return stack;
    }
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    void* stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (stack == MAP_FAILED) throw std::bad_alloc();
    mprotect(stack, static_cast<size_t>(getpagesize()), PROT_NONE);  // an overflow faults
    return stack;
  }
  void give(void* stack, size_t bytes) {
    if (bytes == bytes_ && free_.size() < 4096) {
      free_.push_back(stack);
    } else {
      munmap(stack, bytes);
    }
  }

 private:
  void drop() {
    for (void* stack : free_) munmap(stack, bytes_);
    free_.clear();
  }
  std::vector<void*> free_;
  size_t bytes_ = 0;
};

thread_local StackPool stack_pool;

struct PooledStack {
  size_t bytes;
  StackBounds* bounds;
  boost::context::stack_context allocate() const {
    void* bottom = stack_pool.take(bytes);
    *bounds = {bottom, bytes};
    boost::context::stack_context context;
    context.size = bytes;
    context.sp = static_cast<char*>(bottom) + bytes;
    return context;
  }
  void deallocate(boost::context::stack_context& context) const noexcept {
    void* bottom = static_cast<char*>(context.sp) - context.size;
    clean_stack({bottom, context.size});
    stack_pool.give(bottom, context.size);
  }
};

// Runs on the fiber's stack when its body ends, by return or by unwinding.
struct LastSwitch {
  const StackBounds& to;
  ~LastSwitch() { last_switch(to); }
};

}  // namespace

struct Fiber::State {
  boost::context::fiber inside, outside;
  StackBounds inside_stack, outside_stack;
  bool started = false;
};

Fiber::Fiber(size_t stack_bytes, std::function<void()> body) : state_(std::make_unique<State>()) {
  State* state = state_.get();
  state->inside =
      boost::context::fiber(std::allocator_arg, PooledStack{stack_bytes, &state->inside_stack},
                            [state, body = std::move(body)](boost::context::fiber&& outside) {
                              first_switch(state->outside_stack);
                              const LastSwitch last{state->outside_stack};
                              state->outside = std::move(outside);
                              body();
                              return std::move(state->outside);
                            });
}

Fiber::~Fiber() {
  if (!state_->inside || !state_->started) return;  // nothing to unwind on its stack
  const SwitchAway away(state_->inside_stack, nullptr);
  state_->inside = boost::context::fiber();
}

bool Fiber::resume() {
  state_->started = true;
  const SwitchAway away(state_->inside_stack, nullptr);
  state_->inside = std::move(state_->inside).resume();
  return !state_->inside;
}

void Fiber::suspend() {
  const SwitchAway away(state_->outside_stack, &state_->outside_stack);
  state_->outside = std::move(state_->outside).resume();
}

}  // namespace coda::sim
