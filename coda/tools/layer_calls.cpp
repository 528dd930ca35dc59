#include "coda/tools/layer_calls.h"

#include <utility>

#include "coda/block/call.h"
#include "coda/block/sizes.h"
#include "coda/tools/layer_reference.h"

namespace coda::tools {

using block::append;
using block::partials;

LayerCalls::LayerCalls(const LayerSizes& sizes, DType type, bool folded,
                       const reference::Arrays& inputs)
    : sizes_(sizes), type_(type), type_name_(dtype_name(type)), folded_(folded) {
  form_ = (folded ? "folded-" : "kept-") + type_name_;
  make_inputs(inputs);
  make_activations();
  make_gradients();
  if (folded) add_folds();
  add_forward();
  add_backward();
}

void LayerCalls::make_inputs(const reference::Arrays& inputs) {
  const int64_t M = sizes_.tokens, h = sizes_.hidden, kv = sizes_.kv_heads * sizes_.head_dim,
                attended = sizes_.heads * sizes_.head_dim;
  const auto one = [&](const char* name, DType type, int64_t rows, int64_t columns) {
    stack(name, type, columns, {{name, rows}});
  };
  one("y", type_, M, attended);
  one("x", type_, M, h);
  one("wo", type_, h, attended);
  stack("gate_up", type_, h, {{"wg", sizes_.ffn}, {"wu", sizes_.ffn}});
  one("wd", type_, h, sizes_.ffn);
  stack("qkv", type_, h, {{"wq", attended}, {"wk", kv}, {"wv", kv}});
  one("gamma1", type_, 1, h);
  one("gamma2", type_, 1, h);
  one("inv_freq", DType::kFp32, 1, sizes_.head_dim / 2);
  one("positions", DType::kInt64, 1, M);
  one("dx2", type_, M, h);
  one("dq", type_, M, attended);
  one("dk", type_, M, kv);
  one("dv", type_, M, kv);
  for (const auto& [name, values] : inputs) set(name, values);
}

void LayerCalls::make_activations() {
  const int64_t M = sizes_.tokens, h = sizes_.hidden, parts = partials(h);
  for (const std::string number : {"1", "2"}) {
    stack("x" + number, type_, h, {{"x" + number, M}});
    if (!folded_) stack("scaled" + number, type_, h, {{"scaled" + number, M}});
    stack("squares" + number, DType::kFp32, M, {{"squares" + number, parts}});
  }
  for (const char* name : {"gate", "up", "a"}) stack(name, type_, sizes_.ffn, {{name, M}});
  stack("q", type_, sizes_.heads * sizes_.head_dim, {{"q", M}});
  for (const char* name : {"k", "v"}) {
    stack(name, type_, sizes_.kv_heads * sizes_.head_dim, {{name, M}});
  }
}

void LayerCalls::make_gradients() {
  const int64_t M = sizes_.tokens, h = sizes_.hidden, kv = sizes_.kv_heads * sizes_.head_dim,
                attended = sizes_.heads * sizes_.head_dim, ffn = sizes_.ffn;
  const auto one = [&](const char* name, int64_t rows, int64_t columns) {
    stack(name, type_, columns, {{name, rows}});
  };
  one("zq", M, attended);
  one("zk", M, kv);
  one("zv", M, kv);
  for (const char* name : {"dgate", "dup", "a again"}) one(name, M, ffn);
  one("dx through 2", M, h);
  one("dx", M, h);
  one("dy", M, attended);
  one("dwo", h, attended);
  stack("dgate_up", type_, h, {{"dwg", ffn}, {"dwu", ffn}});
  one("dwd", h, ffn);
  stack("dqkv", type_, h, {{"dwq", attended}, {"dwk", kv}, {"dwv", kv}});
  one("dgamma1", 1, h);
  one("dgamma2", 1, h);
  stack("dots1", DType::kFp32, M, {{"dots1", partials(ffn)}});
  stack("dots2", DType::kFp32, M, {{"dots2", sizes_.heads + 2 * sizes_.kv_heads}});
  const int64_t qkv_parts = partials(attended) + 2 * partials(kv);
  const int64_t parts1 = folded_ ? 2 * partials(ffn) : partials(M),
                parts2 = folded_ ? qkv_parts : partials(M);
  stack("dgamma1 partials", DType::kFp32, h, {{"dgamma1 partials", parts1}});
  stack("dgamma2 partials", DType::kFp32, h, {{"dgamma2 partials", parts2}});
}

// Calls

Argument LayerCalls::port(const char* name, const std::string& tensor) const {
  return {name, {view(tensor)}};
}

std::vector<TensorView> LayerCalls::views(const Names& names, bool transposed) const {
  std::vector<TensorView> result;
  for (const std::string& name : names) {
    result.push_back(transposed ? block::transpose(view(name)) : view(name));
  }
  return result;
}

OperandView LayerCalls::operand(Cut cut, const Names& names, bool transposed) const {
  return block::operand(cut, views(names, transposed));
}

void LayerCalls::add(const char* operation, const std::string& variant, const OperandView& a,
                     const OperandView& b, std::vector<Argument> arguments) {
  const catalogue::Operation& found = catalogue::find_operation(operation);
  calls_.push_back(
      {&found, &catalogue::find_variant(found, variant), {a, b, std::move(arguments)}});
}

std::vector<Argument> LayerCalls::row_factor(const std::string& squares) const {
  return {port("rstd", squares),
          {"rstd.width", {}, static_cast<double>(sizes_.hidden)},
          {"rstd.epsilon", {}, kLayerEpsilon}};
}

void LayerCalls::add_folds() {
  stack("folded gate_up", type_, sizes_.hidden,
        {{"folded wg", sizes_.ffn}, {"folded wu", sizes_.ffn}});
  const int64_t attended = sizes_.heads * sizes_.head_dim, kv = sizes_.kv_heads * sizes_.head_dim;
  stack("folded qkv", type_, sizes_.hidden,
        {{"folded wq", attended}, {"folded wk", kv}, {"folded wv", kv}});
  const auto fold = [&](const std::string& weight, const char* gamma) {
    add("fold_norm_weight", type_name_, {}, {},
        {port("weight", weight), port("gamma", gamma), port("out", "folded " + weight)});
  };
  fold("gate_up", "gamma1");
  fold("qkv", "gamma2");
}

void LayerCalls::add_residual_norm(const char* a, const char* weight, const char* residual,
                                   const std::string& number) {
  std::vector<Argument> arguments = {port("residual", residual), port("out", "x" + number),
                                     port("squares", "squares" + number)};
  if (!folded_) {
    append(arguments, {port("gamma", "gamma" + number), port("scaled", "scaled" + number)});
  }
  add("linear_residual_norm", form_, operand(Cut::kNone, {a}), operand(Cut::kNone, {weight}),
      arguments);
}

void LayerCalls::add_forward() {
  const std::string fold = folded_ ? "folded " : "", next = folded_ ? "x" : "scaled";
  add_residual_norm("y", "wo", "x", "1");  // F1

  const OperandView gate_up = block::pair_of(view(fold + "wg"), view(fold + "wu"));  // F2
  std::vector<Argument> arguments = {port("gate", "gate"), port("up", "up"), port("out", "a")};
  append(arguments, row_factor("squares1"));
  add("linear_swiglu", type_name_, operand(Cut::kNone, {next + "1"}), gate_up, arguments);

  add_residual_norm("a", "wd", "x1", "2");  // F3

  const OperandView qkv =
      block::halves_of(sizes_.head_dim, views({fold + "wq", fold + "wk", fold + "wv"}));  // F4
  arguments = {port("inv_freq", "inv_freq"),
               port("positions", "positions"),
               {"out", views({"q", "k", "v"})}};
  append(arguments, row_factor("squares2"));
  add("linear_rope", type_name_, operand(Cut::kNone, {next + "2"}), qkv, arguments);
}

void LayerCalls::add_norm_backward(const Names& dz, const Names& weights, const char* along,
                                   const std::string& number) {
  std::vector<Argument> arguments = {port("x", "x" + number),
                                     port("dx_in", along),
                                     port("dots", "dots" + number),
                                     {"dots.width", {}, static_cast<double>(sizes_.hidden)},
                                     port("dx", number == "1" ? "dx" : "dx through 2")};
  append(arguments, row_factor("squares" + number));
  if (!folded_) {
    append(arguments,
           {port("gamma", "gamma" + number), port("dgamma", "dgamma" + number + " partials")});
  }
  add("linear_norm_backward", form_, operand(Cut::kContraction, dz),
      operand(Cut::kContraction, weights, true), arguments);
}

// number: of the norm before the weight, or nothing.
void LayerCalls::add_weight_grad(const Names& dz, const std::string& x, const std::string& weight,
                                 const std::string& number) {
  const bool folded = folded_ && !number.empty();
  std::vector<Argument> arguments = {port("out", "d" + weight)};
  if (folded) {
    append(arguments, {port("weight", weight), port("gamma", "gamma" + number),
                       port("dgamma", "dgamma" + number + " partials")});
  }
  add("linear_weight_grad", folded ? form_ : type_name_, operand(Cut::kRows, dz, true),
      operand(Cut::kNone, {x}, true), arguments);
}

void LayerCalls::add_backward() {
  const std::string fold = folded_ ? "folded " : "", next = folded_ ? "x" : "scaled";
  std::vector<Argument> arguments = row_factor("squares2");  // B0
  append(arguments, {port("q", "q"),
                     port("k", "k"),
                     port("v", "v"),
                     port("dq", "dq"),
                     port("dk", "dk"),
                     port("dv", "dv"),
                     port("inv_freq", "inv_freq"),
                     port("positions", "positions"),
                     port("dzq", "zq"),
                     port("dzk", "zk"),
                     port("dzv", "zv"),
                     port("sums", "dots2"),
                     {"head_dim", {}, static_cast<double>(sizes_.head_dim)}});
  add("rope_backward", type_name_, {}, {}, arguments);
  add_norm_backward({"zq", "zk", "zv"}, {fold + "wq", fold + "wk", fold + "wv"}, "dx2", "2");  // B1
  add_weight_grad({"zq", "zk", "zv"}, next + "2", "qkv", "2");                                 // B2

  arguments = {port("gate", "gate"), port("up", "up"),       port("dgate", "dgate"),
               port("dup", "dup"),   port("out", "a again"), port("dots", "dots1")};  // B3
  append(arguments, row_factor("squares1"));
  add("linear_swiglu_backward", type_name_, operand(Cut::kNone, {"dx through 2"}),
      operand(Cut::kNone, {"wd"}, true), arguments);
  add_weight_grad({"dx through 2"}, "a again", "wd");                                    // B4
  add_norm_backward({"dgate", "dup"}, {fold + "wg", fold + "wu"}, "dx through 2", "1");  // B5
  add_weight_grad({"dgate", "dup"}, next + "1", "gate_up", "1");                         // B6

  add("linear", type_name_, operand(Cut::kNone, {"dx"}), operand(Cut::kNone, {"wo"}, true),
      {port("out", "dy")});  // B7
  add_weight_grad({"dx"}, "y", "wo");
  for (const std::string name : {"dgamma1", "dgamma2"}) {
    add("finish_columns", type_name_, {}, {},
        {port("partials", name + " partials"), port("out", name)});
  }
}

}  // namespace coda::tools
