// What a model runs: a list of nodes made once, each one operation on fixed tensors. Attention and
// the head, which are more than one call of the catalogue, have their own kinds.
#pragma once
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "coda/attention/attention.h"
#include "coda/catalogue/operation.h"

namespace coda::block {

struct CallNode {
  const catalogue::Operation* operation = nullptr;
  const catalogue::Variant* variant = nullptr;
  catalogue::Call call;
};

struct AttentionNode {
  attention::Shape shape;
  attention::Forward tensors;
};

struct AttentionBackwardNode {
  attention::Shape shape;
  attention::Backward tensors;
};

// F5: the loss. With gradients also B8, B1 and B2 of the head, `chunk_rows` rows at a time.
struct HeadNode {
  TensorView x;        // [M, h]: normalised; with a norm of the head's own, x⊙γ of it
  TensorView weight;   // [V, h]
  TensorView targets;  // [M], int64
  TensorView loss;     // [1], fp32: the mean
  TensorView lse;      // [M], fp32

  bool with_gradients = false;
  int64_t chunk_rows = 0;
  bool add_to_dweight = false;
  TensorView dloss;    // [1], fp32
  TensorView dweight;  // [V, h], fp32
  TensorView dx;       // [M, h]: by x; with a norm, by the residual stream before it

  struct Norm {          // RMSNorm, its row factor in the head's GEMMs; none without squares
    TensorView squares;  // [⌈h/64⌉, M]: Σ stream²
    double epsilon = 0;
    TensorView stream;  // [M, h]
    TensorView gamma;   // [h]
    TensorView dots;    // [1, M], fp32; with gradients, as the next
    TensorView dgamma;  // [⌈M/64⌉, h], fp32: partials
  };
  Norm norm = {};

  bool normalises() const { return norm.squares.data != nullptr; }
};

struct Node {
  std::string label;  // as in docs/training.md: "F1", "B3", ...; with the operation's name
  std::variant<CallNode, AttentionNode, AttentionBackwardNode, HeadNode> work;
  TensorView workspace = {};  // [1, bytes / 8], while it runs; none where the device asks for none
};

using Nodes = std::vector<Node>;

// f(TensorView&) for every tensor of a node.
void for_each_view(Node& node, const std::function<void(TensorView&)>& f);

}  // namespace coda::block
