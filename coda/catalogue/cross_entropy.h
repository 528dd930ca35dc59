// The loss of a language model's head and its gradients, as sequences of catalogue programs and row
// operations, on the CPU or on the GPU. z = rstd ⊙ x Wᵀ; the logits need never exist as a whole.
// Three ways to the gradients:
//   cross_entropy_with_gradients   made during the forward, a range of rows at a time
//   cross_entropy_backward         from logits that the forward kept
//   cross_entropy_recompute        a range of the vocabulary at a time, made again
// Nothing is allocated, copied to the host or synchronised on the GPU: the caller hands over
// workspaces, of the sizes that the functions at the end say. Host only.
#pragma once
#include <functional>

#include "coda/cpu/run.h"
#include "coda/program/operand.h"
#include "coda/rows/cross_entropy_loss.h"

namespace coda::cuda {
struct Target;  // coda/plan/cuda.h
}

namespace coda::catalogue {

// Mean: over the rows that are not ignored; where all are, NaN with gradients of zero.
enum class LossReduction { kNone, kSum, kMean };

struct CrossEntropyOptions {
  float soft_cap = 0;   // c of ẑ = c·tanh(z/c); 0: none
  float z_loss = 0;     // λ of λ·lse²
  float smoothing = 0;  // α of label smoothing
  int64_t ignore_index = -100;
  LossReduction reduction = LossReduction::kMean;
};

// T: bf16, or float on the CPU.
template <class T>
struct CrossEntropy {
  Matrix<const T> x;                // [M, h]: normalised; or, with rstd, x⊙γ (or x, with γ in W)
  Matrix<const T> weight;           // [V, h]
  const int64_t* target = nullptr;  // [M]
  PerRowFrom<ReciprocalRms> rstd;   // [parts, M], where x is not normalised
  CrossEntropyOptions options;
};

// A target that is neither a column nor ignored: on the CPU an error before anything is written; on
// the GPU the row's loss is NaN and *error becomes 1.
struct CrossEntropyLoss {
  float* loss = nullptr;     // [1]; [M] without a reduction
  float* lse = nullptr;      // [M]
  int32_t* error = nullptr;  // [1], left alone where there is no error; may be null (GPU)
};

// What the gradient by x is made from, for a range of rows (or of the vocabulary).
template <class T>
struct InputGradStep {
  int64_t first_row = 0;
  Matrix<const T> dz;        // rstd·dz [rows, columns]
  Matrix<const T> weight;    // [columns, h]
  Matrix<const float> dots;  // [parts, rows]: Σ z·dz of these columns
  bool first = true;         // else: to be added to what steps before have left for these rows
};

template <class T>
struct CrossEntropyGradients {
  // Gradient of the loss, where it will be when the work runs: [1], 1 where it is null; without a
  // reduction [M], and not null.
  const float* dloss = nullptr;
  Matrix<float> dweight;        // [V, h]; one of the gradients may be left out
  bool add_to_dweight = false;  // to what is there
  // The gradient by x where it is normalised, (rstd·dz) W where rstd is given: [M, h]. Recomputing
  // adds it up in fp32, in dx_sum.
  Matrix<T> dx;
  Matrix<float> dx_sum;
  // Instead: runs linear_norm_backward, or anything that takes rstd·dz and Σ z·dz.
  std::function<void(const InputGradStep<T>&)> input_grad;
  Matrix<float> dots;  // Σ z·dz; with rstd only: [1, M], when recomputing [⌈V/128⌉, M]
};

struct CrossEntropyWorkspace {
  void* data = nullptr;  // aligned to 256 bytes, nobody else's until the work is done
  int64_t bytes = 0;
};

// Where the work is done.
struct OnCpu {
  cpu::Options options = {};
};
struct OnCuda {
  const cuda::Target& target;
};

// logits: z, before the soft-cap, [M, V]; none where it has no data.
template <class T>
void cross_entropy(const OnCpu& where, const CrossEntropy<T>& problem,
                   const CrossEntropyLoss& outputs, const Matrix<T>& logits,
                   const CrossEntropyWorkspace& workspace);
void cross_entropy(const OnCuda& where, const CrossEntropy<bf16>& problem,
                   const CrossEntropyLoss& outputs, const Matrix<bf16>& logits,
                   const CrossEntropyWorkspace& workspace);

// chunk_rows: rows whose logits exist at a time. With a reduction only: dloss is needed now.
template <class T>
void cross_entropy_with_gradients(const OnCpu& where, const CrossEntropy<T>& problem,
                                  const CrossEntropyLoss& outputs,
                                  const CrossEntropyGradients<T>& gradients, int64_t chunk_rows,
                                  const CrossEntropyWorkspace& workspace);
void cross_entropy_with_gradients(const OnCuda& where, const CrossEntropy<bf16>& problem,
                                  const CrossEntropyLoss& outputs,
                                  const CrossEntropyGradients<bf16>& gradients, int64_t chunk_rows,
                                  const CrossEntropyWorkspace& workspace);

// logits: what cross_entropy left. dz [M, V]: for rstd·dz; may be the very memory of logits.
template <class T>
void cross_entropy_backward(const OnCpu& where, const CrossEntropy<T>& problem, const float* lse,
                            const Matrix<const T>& logits, const Matrix<T>& dz,
                            const CrossEntropyGradients<T>& gradients,
                            const CrossEntropyWorkspace& workspace);
void cross_entropy_backward(const OnCuda& where, const CrossEntropy<bf16>& problem,
                            const float* lse, const Matrix<const bf16>& logits,
                            const Matrix<bf16>& dz, const CrossEntropyGradients<bf16>& gradients,
                            const CrossEntropyWorkspace& workspace);

// chunk_columns: of the vocabulary, a multiple of 128.
template <class T>
void cross_entropy_recompute(const OnCpu& where, const CrossEntropy<T>& problem, const float* lse,
                             const CrossEntropyGradients<T>& gradients, int64_t chunk_columns,
                             const CrossEntropyWorkspace& workspace);
void cross_entropy_recompute(const OnCuda& where, const CrossEntropy<bf16>& problem,
                             const float* lse, const CrossEntropyGradients<bf16>& gradients,
                             int64_t chunk_columns, const CrossEntropyWorkspace& workspace);

// What they ask of the workspace. type: of x.
int64_t cross_entropy_bytes(int64_t M, int64_t V);
int64_t cross_entropy_with_gradients_bytes(int64_t M, int64_t V, int64_t chunk_rows, DType type);
int64_t cross_entropy_backward_bytes();
int64_t cross_entropy_recompute_bytes(int64_t M, int64_t V, int64_t chunk_columns, DType type);

}  // namespace coda::catalogue
