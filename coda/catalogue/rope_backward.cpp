#include "coda/rows/rope_backward.h"

#include <array>

#include "coda/catalogue/rope_backward_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

constexpr DType kFp32 = DType::kFp32;

int64_t draw_head_dim(const DrawRequest& request) {
  Random& random = request.random;
  if (request.size != nullptr) {  // as models of that width have it
    for (const int64_t d : {128, 64, 16}) {
      if (request.size->N % d == 0 && request.size->N / d >= 4) return d;
    }
    return 2;
  }
  if (random.chance(0.6)) return random.pick(std::array<int64_t, 5>{64, 80, 96, 128, 256});
  return request.gpu ? 16 * random.between(1, 16) : 2 * random.between(1, 40);
}

template <class T, class Position>
struct RopeBackward {
  static constexpr DType kType = dtype_of<T>;

  static ProgramView program() {
    ProgramView result{.name = "rope_backward", .ports = {}};
    const auto add = [&](PortView port) { result.ports.push_back(std::move(port)); };
    const auto each = [&](auto&& make) {
      for (const char* name : {"q", "k", "v"}) add(make(std::string(name)));
    };
    const auto in = [](const std::string& name, const char* shape) {
      return tensor_in(name.c_str(), shape, kType);
    };
    const auto partials = [](const std::string& name) {
      return optional(tensor_out(name.c_str(), "[⌈M/64⌉, H·d]", kFp32));
    };
    each([&](const std::string& name) { return in("d" + name, "[M, H·d]"); });
    each([&](const std::string& name) { return in(name, "[M, H·d]"); });
    add(tensor_in("positions", "[M]", dtype_of<Position>));
    add(optional(tensor_in("inv_freq", "[d/2]", kFp32)));
    add(optional(in("cos", "[positions, d/2]")));
    add(optional(in("sin", "[positions, d/2]")));
    add(tensor_in("rstd", "[parts, M]", kFp32));
    each([&](const std::string& name) { return optional(in("bias_" + name, "[H·d]")); });
    add(optional(in("q_norm", "[d]")));
    add(optional(in("k_norm", "[d]")));
    each([](const std::string& name) {
      return tensor_out(("dz" + name).c_str(), "[M, H·d]", kType);
    });
    add(tensor_out("sums", "[Hq + 2·Hkv, M]", kFp32));
    each([&](const std::string& name) { return partials("dbias_" + name); });
    add(partials("dq_norm"));
    add(partials("dk_norm"));
    return result;
  }

  static std::vector<std::string> parameters() {
    return {"head_dim", "rstd.width", "rstd.epsilon", "scale", "norm_epsilon"};
  }

  static row::RopeBackwardArguments read(const NamedArguments& call) {
    const auto segment = [&](const std::string& name, bool norm) -> row::RopeBackwardSegment {
      const auto maybe = [&](const std::string& port) { return call.maybe(port.c_str()); };
      return {call.tensor(("d" + name).c_str()),
              call.tensor(name.c_str()),
              call.tensor(("dz" + name).c_str()),
              maybe("bias_" + name),
              maybe("dbias_" + name),
              norm ? maybe(name + "_norm") : std::nullopt,
              norm ? maybe("d" + name + "_norm") : std::nullopt};
    };
    return {.q = segment("q", true),
            .k = segment("k", true),
            .v = segment("v", false),
            .positions = call.tensor("positions"),
            .rstd = call.tensor("rstd"),
            .rstd_width = call.number("rstd.width"),
            .rstd_epsilon = call.number("rstd.epsilon"),
            .sums = call.tensor("sums"),
            .head_dim = call.integer("head_dim"),
            .inv_freq = call.maybe("inv_freq"),
            .cosines = call.maybe("cos"),
            .sines = call.maybe("sin"),
            .scale = call.number("scale", 1),
            .norm_epsilon = call.number("norm_epsilon", 0)};
  }
  static void run_cpu(const auto& a, int threads) { cpu::rope_backward(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::rope_backward(a, stream); }

  // Of a benchmark: M tokens, q of N columns, a quarter of its heads for k and v.
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const bool bench = request.size != nullptr;
    const int64_t d = draw_head_dim(request);
    const int64_t shared = bench ? 4 : random.between(1, 4);  // heads of q to one of k
    const int64_t heads = bench ? std::max<int64_t>(request.size->N / (4 * d), 1)
                                : random.between(1, d > 100 ? 2 : 4);
    int64_t M = bench ? request.size->M : draw_tokens(random);
    if (!bench) M = std::min(M, 150000 / (shared * heads * d));
    const bool norms = !request.integers && !bench && random.chance(0.4);

    DrawnCase drawn;
    const auto input = [&](const std::string& name, int64_t rows, int64_t columns,
                           const Values& values) {
      drawn.inputs.push_back({name, rows, columns, values});
    };
    const auto output = [&](const std::string& name, int64_t rows, int64_t columns) {
      drawn.outputs.push_back({name, rows, columns});
    };
    for (const std::string name : {"q", "k", "v"}) {
      const int64_t columns = heads * d * (name == "q" ? shared : 1);
      Values values = request.integers ? Values::integer(-7, 7) : Values::normal();
      // Through a norm, ∞ - ∞ of one way to write a sum is ∞ in another.
      values.specials = values.specials && !norms;
      input("d" + name, M, columns, values);
      input(name, M, columns, values);
      output("dz" + name, M, columns);
      if (!bench && random.chance(0.3)) input("bias_" + name, 1, columns, values);
      if (!bench && random.chance(0.3)) output("dbias_" + name, row::parts_of(M), columns);
      if (name == "v" || !norms || random.chance(0.2)) continue;
      input(name + "_norm", 1, d, {Values::Kind::kNormal, 1, 0.5});
      if (random.chance(0.7)) output("d" + name + "_norm", row::parts_of(M), columns);
    }
    if (!bench && random.chance(0.2)) {
      drawn.in_place_output = "dzq";
      drawn.in_place_input = "dq";
    }
    drawn.numbers["head_dim"] = static_cast<double>(d);
    if (norms) drawn.numbers["norm_epsilon"] = random.chance(0.5) ? 1e-6 : 0.5;
    draw_angles(request, drawn, M, d);
    // Integers: the partials are 1, and so is what is finished from their mean.
    const int64_t parts = bench ? row::parts_of(request.size->N) : random.between(1, 9);
    drawn.numbers["rstd.width"] = static_cast<double>(request.integers ? parts : 64 * parts);
    drawn.numbers["rstd.epsilon"] = request.integers ? 0 : static_cast<double>(1e-5f);
    input("rstd", parts, M, request.integers ? Values::integer(1, 1) : Values::uniform(32, 96));
    output("sums", (shared + 2) * heads, M);
    drawn.terms = std::max<int64_t>(d, kPartialWidth);
    drawn.bytes = static_cast<double>(M * heads * (shared + 2)) *
                  (3.0 * sizeof(T) * static_cast<double>(d) + 4.0);
    return drawn;
  }

  static void draw_angles(const DrawRequest& request, DrawnCase& drawn, int64_t M, int64_t d) {
    Random& random = request.random;
    const bool tables = request.integers || (request.size == nullptr && random.chance(0.3));
    const int64_t positions = tables ? random.between(1, 100) : random.chance(0.5) ? 4096 : 1000000;
    drawn.inputs.push_back({"positions", 1, M, Values::integer(0, positions - 1)});
    if (tables) {  // integers: quarter turns, and their like
      const Values values = request.integers ? Values::integer(-1, 1) : Values::uniform(-1, 1);
      drawn.inputs.push_back({"cos", positions, d / 2, values});
      drawn.inputs.push_back({"sin", positions, d / 2, values});
    } else {
      drawn.inputs.push_back({"inv_freq", 1, d / 2, Values::uniform(1e-4, 1)});
    }
    if (random.chance(0.3)) drawn.numbers["scale"] = request.integers ? 2 : 1.25;
  }
};

}  // namespace

const Operation& rope_backward_operation();  // the build collects it in operations()

const Operation& rope_backward_operation() {
  static const Operation operation = [] {
    Operation result{
        .name = "rope_backward",
        .formula = "dz = r·(dq, dk turned back; dv), through a head norm; sums = Σ z·dz per head",
        .summary = "Gradients of q, k, v back to their linear layers.",
        .variants = {row_variant<RopeBackward<bf16, int64_t>>("bf16", DType::kBf16),
                     row_variant<RopeBackward<bf16, int32_t>>("bf16-int32", DType::kBf16),
                     row_variant<RopeBackward<float, int64_t>>("fp32", DType::kFp32)},
        .reference = &rope_backward_reference,
        .exact = {"dzq", "dzk", "dzv", "sums", "dbias_q", "dbias_k", "dbias_v"},
        .has_operands = false};
    Variant& fp32 = result.variants.back();  // the GPU has bf16 only
    fp32.run_cuda = nullptr;
    fp32.cuda_workspace_bytes = nullptr;
    return result;
  }();
  return operation;
}

}  // namespace coda::catalogue
