// All memory of a model, decided before the first step. Tensors are declared first and stand for
// addresses that do not exist yet; the lists of nodes that use them say how long each activation
// lives; then all get places in one piece of memory, activations that never live at the same time
// the same ones.
#pragma once
#include <string>
#include <vector>

#include "coda/block/node.h"

namespace coda::block {

enum class Use {
  kWeights,     // what the operations read, in the model's type
  kFolded,      // W' = W⊙γ
  kMaster,      // fp32 weights
  kMoments,     // of AdamW
  kGradients,   // fp32
  kInputs,      // tokens, positions, rates, sums of squares: everything small that stays
  kActivation,  // lives from the first node that names it to the last; workspaces too
};
inline constexpr Use kUses[] = {Use::kWeights,   Use::kFolded, Use::kMaster,    Use::kMoments,
                                Use::kGradients, Use::kInputs, Use::kActivation};
const char* use_name(Use use);

class MemoryPlan {
 public:
  // Its data is no address yet: real() of a placed plan gives it.
  TensorView declare(std::string name, Use use, DType type, int64_t rows, int64_t columns);

  // A list that runs from its first node to its last. An activation belongs to one list, and keeps
  // nothing to its next run.
  void add(Nodes& nodes);

  void place();                // after all declare() and add()
  int64_t bytes() const;       // of all
  int64_t bytes(Use) const;    // of what stays; of activations: where they share places
  int64_t live_bytes() const;  // the most that activations need at one node: no plan has less

  // Tensors by name with bytes, offset and the list positions of their lives, for people.
  std::string describe() const;
  std::string summary() const;  // bytes by use

  // Replaces what declare() gave by addresses in memory that begins at base.
  TensorView real(TensorView view, void* base) const;
  void make_real(Nodes& nodes, void* base) const;

 private:
  struct Tensor {
    std::string name;
    Use use = Use::kInputs;
    int64_t bytes = 0, offset = 0;
    int list = -1;                // of an activation
    int64_t first = 0, last = 0;  // nodes of it
  };

  static bool meet(const Tensor& a, const Tensor& b);
  // Offsets of activations of one list, from 0 on; returns where the last one ends.
  static int64_t place_list(std::vector<Tensor*> tensors);
  static int64_t place_in_order(const std::vector<Tensor*>& tensors);

  std::vector<Tensor> tensors_;
  int lists_ = 0;
  int64_t stays_ = 0, activations_ = 0;
};

}  // namespace coda::block
