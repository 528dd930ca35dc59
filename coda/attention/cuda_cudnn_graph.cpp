#include "coda/attention/cuda_cudnn_graph.h"

#include <cudnn_frontend.h>

namespace coda::attention {
namespace {

namespace frontend = cudnn_frontend;
using frontend::graph::Graph;
using frontend::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Tensor_attributes>;

constexpr int32_t kHopper = 90;  // cuda::device_facts() lets no other GPU pass

// [batch, heads, tokens, head_dim] within [batch·tokens, heads·head_dim]
void lay_out(Tensor_attributes& tensor, const Shape& shape, int64_t heads, int64_t pitch) {
  tensor.set_dim({shape.batch, heads, shape.tokens, shape.head_dim})
      .set_stride({shape.tokens * pitch, shape.head_dim, pitch, 1})
      .set_data_type(frontend::DataType_t::BFLOAT16);
}

// [batch, heads, tokens, 1] one after the other: backward reads no other layout before cuDNN 9.26.
void lay_out_lse(Tensor_attributes& lse, const Shape& shape) {
  lse.set_dim({shape.batch, shape.heads, shape.tokens, 1})
      .set_stride({shape.heads * shape.tokens, shape.tokens, 1, 1})
      .set_data_type(frontend::DataType_t::FLOAT)
      .set_uid(kLse);
}

class GraphMaker {
 public:
  GraphMaker(const Shape& shape, const Pitches& pitches) : shape_(shape), pitches_(pitches) {
    graph_->set_io_data_type(frontend::DataType_t::BFLOAT16)
        .set_intermediate_data_type(frontend::DataType_t::FLOAT)
        .set_compute_data_type(frontend::DataType_t::FLOAT)
        .set_sm_version(kHopper);
    q_ = input(kQ, "q", shape.heads, pitches.q);
    k_ = input(kK, "k", shape.kv_heads, pitches.k);
    v_ = input(kV, "v", shape.kv_heads, pitches.v);
  }

  std::shared_ptr<Graph> forward() {
    const auto [y, lse] =
        graph_->sdpa(q_, k_, v_,
                     frontend::graph::SDPA_attributes()
                         .set_name("attention")
                         .set_implementation(frontend::AttentionImplementation_t::COMPOSITE)
                         .set_attn_scale(shape_.scale)
                         .set_causal_mask(true)
                         .set_generate_stats(true));
    output(y, kY, shape_.heads, pitches_.y);
    lse->set_output(true);
    lay_out_lse(*lse, shape_);
    return graph_;
  }

  std::shared_ptr<Graph> backward(bool deterministic) {
    const Tensor y = input(kY, "y", shape_.heads, pitches_.y);
    const Tensor dy = input(kDy, "dy", shape_.heads, pitches_.dy);
    Tensor_attributes stats;
    lay_out_lse(stats.set_name("lse"), shape_);
    const Tensor lse = graph_->tensor(stats);
    const auto [dq, dk, dv] =
        graph_->sdpa_backward(q_, k_, v_, y, dy, lse,
                              frontend::graph::SDPA_backward_attributes()
                                  .set_name("attention_backward")
                                  .set_attn_scale(shape_.scale)
                                  .set_causal_mask(true)
                                  .set_deterministic_algorithm(deterministic));
    output(dq, kDq, shape_.heads, pitches_.dq);
    output(dk, kDk, shape_.kv_heads, pitches_.dk);
    output(dv, kDv, shape_.kv_heads, pitches_.dv);
    return graph_;
  }

 private:
  Tensor input(CudnnOperand operand, const char* name, int64_t heads, int64_t pitch) {
    Tensor_attributes tensor;
    tensor.set_name(name).set_uid(operand);
    lay_out(tensor, shape_, heads, pitch);
    return graph_->tensor(tensor);
  }
  void output(const Tensor& tensor, CudnnOperand operand, int64_t heads, int64_t pitch) {
    tensor->set_output(true).set_uid(operand);
    lay_out(*tensor, shape_, heads, pitch);
  }

  Shape shape_;
  Pitches pitches_;
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Tensor q_, k_, v_;
};

}  // namespace

std::shared_ptr<Graph> make_graph(Direction direction, const Shape& shape, const Pitches& pitches) {
  GraphMaker maker(shape, pitches);
  if (direction == Direction::kForward) return maker.forward();
  return maker.backward(direction == Direction::kBackwardDeterministic);
}

}  // namespace coda::attention
