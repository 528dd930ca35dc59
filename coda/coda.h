/* The C interface: runs an operation of the catalogue by name on tensors that the caller owns,
 * on the CPU or on a Hopper GPU. coda_operation_name() and its neighbours, or `coda list`, say
 * what there is. Nothing is thrown across: a function gives a status, and coda_last_error() says
 * what was expected and what came. Everything is checked before anything is written. Calls from
 * several threads are independent; in a process that was forked from one with several threads, of
 * whatever library, the CPU's calls run on one. Within a major version of libcoda, structures keep
 * their layout; those with a `size` may get further members at their end, which a caller compiled
 * earlier leaves at zero. */
#ifndef CODA_CODA_H_
#define CODA_CODA_H_

#include <stdint.h>

#if defined(__GNUC__)
#define CODA_API __attribute__((visibility("default")))
#else
#define CODA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): this is C */
typedef enum coda_status {
  CODA_OK = 0,
  CODA_BAD_ARGUMENT = 1,   /* the call does not fit the operation; nothing was written */
  CODA_INTERNAL_ERROR = 2, /* memory ran out, or a defect in coda */
  CODA_DEVICE_ERROR = 3    /* no such GPU, no kernels for it, or what CUDA answered */
} coda_status;

typedef enum coda_dtype {
  CODA_BF16 = 0,
  CODA_FP16 = 1,
  CODA_FP32 = 2,
  CODA_INT32 = 3,
  CODA_INT64 = 4
} coda_dtype;

/* [rows, columns]; element (i, j) stands at i*ld + j, or at j*ld + i where column_major is not 0.
 * A vector is one row. Partials whose state has several numbers are CODA_FP32 with the numbers of a
 * state side by side; columns and ld count numbers. */
typedef struct coda_tensor {
  void* data;    /* operands and input ports are only read */
  int32_t dtype; /* a coda_dtype */
  int64_t rows, columns, ld;
  int32_t column_major;
} coda_tensor;

typedef enum coda_cut {
  CODA_CUT_NONE = 0,       /* one tensor */
  CODA_CUT_ROWS = 1,       /* tensors stacked along the rows of the operand (q, k, v) */
  CODA_CUT_CONTRACTION = 2 /* tensors side by side along K; A and B are cut alike */
} coda_cut;

/* A is [M, K], B is [N, K], each made of 1 to 4 tensors. An operation with two accumulators takes B
 * as a pair (first and second: gate and up), or as the halves of every head of `first`. */
typedef struct coda_operand {
  const coda_tensor* first;  /* [segments] */
  const coda_tensor* second; /* [segments], or NULL where B is no pair */
  int32_t segments;          /* 0 reads as 1 */
  int32_t cut;               /* a coda_cut */
  int64_t head_dim;          /* of halves, else 0 */
} coda_operand;

/* A port by name with its tensor, one per segment of the port; or, where tensors is NULL, a number:
 * for a Scalar port ("alpha") and for what finishes a port from partials ("rstd.epsilon"). */
typedef struct coda_argument {
  const char* name;
  const coda_tensor* tensors; /* [segments] */
  int32_t segments;           /* 0 reads as 1 */
  double number;
} coda_argument;

typedef enum coda_device { CODA_CPU = 0, CODA_CUDA = 1 } coda_device;

/* Where and how a call runs. All zero but for `size` is the CPU with all its cores. */
typedef struct coda_options {
  uint64_t size;   /* sizeof(coda_options) */
  int32_t device;  /* a coda_device; all tensors are in its memory */
  int32_t threads; /* CPU, at most 1024; 0: OpenMP's default */
  const char* isa; /* CPU: "portable", "avx2", "avx512"; NULL: the widest one the processor has */
  /* CUDA: the call is put on the stream (a cudaStream_t) and returns; nothing is allocated or
   * waited for. What coda_workspace_bytes() asks for, aligned to 256 bytes and nobody else's
   * until the call is done, lets long contractions be cut into slices; without it they stay
   * whole. */
  void* stream; /* NULL: the default stream */
  void* workspace;
  int64_t workspace_bytes;
  int32_t gpu; /* the number of the GPU */
} coda_options;

/* A port of a variant. */
typedef struct coda_port {
  uint64_t size;     /* sizeof(coda_port), set by the caller */
  const char* name;  /* strings live as long as the library */
  const char* kind;  /* "PerRow", "Store", ...: docs/architecture.md has them all */
  const char* shape; /* "[M, N]", ... */
  int32_t dtype;     /* a coda_dtype */
  int32_t numbers;   /* side by side in an element: of a state, else 1 */
  int32_t output;    /* 1: written, 0: read */
  int32_t optional;  /* 1: may be left out */
  int32_t segments;  /* tensors that it takes */
} coda_port;

typedef enum coda_loss_reduction {
  CODA_LOSS_NONE = 0, /* a loss for every row */
  CODA_LOSS_SUM = 1,
  CODA_LOSS_MEAN = 2 /* over the rows that are not ignored; NaN where all are */
} coda_loss_reduction;

typedef enum coda_cross_entropy_step {
  CODA_CROSS_ENTROPY_LOSS = 0,           /* the loss; and the logits, where asked for */
  CODA_CROSS_ENTROPY_WITH_GRADIENTS = 1, /* the loss and its gradients, `chunk` rows at a time */
  CODA_CROSS_ENTROPY_FROM_LOGITS = 2,    /* the gradients, from logits that the first step left */
  CODA_CROSS_ENTROPY_RECOMPUTE = 3       /* the gradients, `chunk` columns of z at a time, again */
} coda_cross_entropy_step;

/* The loss of a language model's head on z = rstd * x W^T and its gradients, as a sequence of
 * operations; but for the step from logits, z never exists as a whole. A target that is neither
 * a column nor ignored is an error before anything is written on the CPU; on the GPU its loss is
 * NaN and *error becomes 1. */
typedef struct coda_cross_entropy {
  uint64_t size;                      /* sizeof(coda_cross_entropy) */
  int32_t step, reduction;            /* a coda_cross_entropy_step, a coda_loss_reduction */
  const coda_tensor *x, *weight;      /* [M, h], [V, h]: bf16; on the CPU also fp32 */
  const coda_tensor* target;          /* [M], int64 */
  int64_t ignore_index;               /* rows of this target count for nothing; else e.g. -100 */
  const coda_tensor* rstd;            /* [parts, M], fp32: sums of squares; NULL: a factor of 1 */
  double rstd_width, rstd_epsilon;    /* of rstd */
  double soft_cap, z_loss, smoothing; /* 0: none */
  int64_t chunk;                      /* rows, or columns (a multiple of 128) */
  const coda_tensor *loss, *lse;      /* [1] or [M], [M], fp32: out; lse is read by later steps */
  int32_t* error;                     /* [1], may be NULL */
  const coda_tensor* logits;          /* [M, V], z: out of the first step where not NULL, then in */
  const coda_tensor* dz;              /* [M, V], from logits: for rstd*dz; may be their memory */
  const coda_tensor* dloss;           /* [1] or [M], fp32; NULL: 1, not with CODA_LOSS_NONE */
  const coda_tensor *dweight, *dx;    /* [V, h] fp32, [M, h] (fp32 where z is made again): out;
                                         one of them may be NULL: not wanted */
  int32_t add_to_dweight;             /* 1: to what is there */
  const coda_tensor* dots; /* with rstd: sums of z*dz, [1, M] or, made again, [V/128, M] */
} coda_cross_entropy;

/* A program that the caller has traced; lives as long as the process. */
typedef struct coda_program coda_program;

/* The gradients of a program, whose incoming ones are tensors. Names are separated by spaces. */
typedef struct coda_backward {
  uint64_t size;         /* sizeof(coda_backward) */
  const char* outputs;   /* that have an incoming gradient */
  const char* gradients; /* input ports whose gradient is wanted; "": of none */
  int32_t accumulators;  /* 1: theirs is wanted too */
  int32_t kept;          /* 1: accumulators come as ports and nothing is contracted (K = 0); 0: the
                            program's GEMM runs again */
  int32_t kept_dtype;    /* a coda_dtype, of the accumulators that are kept */
} coda_backward;
/* NOLINTEND(modernize-use-using) */

/* accumulator_i = A * B_i^T, then the operation's program on it. `variant` NULL takes the first one
 * for A's element type. `options` may be NULL; a and b too, where the operation has no operands. */
CODA_API coda_status coda_run(const char* operation, const char* variant, const coda_operand* a,
                              const coda_operand* b, const coda_argument* arguments,
                              int32_t argument_count, const coda_options* options);

/* The workspace that this call can use: 0 on the CPU, and wherever the contraction stays whole.
 * Depends on shapes and the GPU, not on what the tensors hold. */
CODA_API coda_status coda_workspace_bytes(const char* operation, const char* variant,
                                          const coda_operand* a, const coda_operand* b,
                                          const coda_argument* arguments, int32_t argument_count,
                                          const coda_options* options, int64_t* bytes);

/* Cross-entropy takes its workspace on either device, of the size that the second one says. */
CODA_API coda_status coda_run_cross_entropy(const coda_cross_entropy* call,
                                            const coda_options* options);
CODA_API coda_status coda_cross_entropy_workspace_bytes(const coda_cross_entropy* call,
                                                        int64_t* bytes);

/* What there is, counted from 0; NULL beyond the last one, or where a name is unknown.
 * Parameters are the numbers that finish a port from partials ("rstd.epsilon"). */
CODA_API const char* coda_operation_name(int32_t index);
CODA_API const char* coda_variant_name(const char* operation, int32_t index);
CODA_API const char* coda_parameter_name(const char* operation, const char* variant, int32_t index);
/* 1: A and B are needed, 0: the operation has none, -1: there is no such operation. */
CODA_API int32_t coda_has_operands(const char* operation);
/* CODA_BAD_ARGUMENT beyond the last port. */
CODA_API coda_status coda_get_port(const char* operation, const char* variant, int32_t index,
                                   coda_port* port);

/* Programs of one's own, for those who trace them in another language. `text` is the graph, a node
 * on a line (coda/trace/graph_text.h); the same text gives the same program. Compiled when it first
 * runs: for the CPU by the machine's C++ compiler, for the GPU by NVRTC; CODA_DEVICE_ERROR where
 * there is none. Compiled code is kept in $CODA_CACHE, else in $XDG_CACHE_HOME/coda or
 * ~/.cache/coda. */
CODA_API coda_status coda_define_program(const char* text, const coda_program** program);
/* The program of its gradients: ports d<output> in, d<port> and daccumulator (daccumulator0, 1)
 * out; inputs, outputs and accumulators (accumulator, or accumulator0, 1) that it reads keep their
 * names. Row and column sums are partials. */
CODA_API coda_status coda_derive_program(const coda_program* program, const coda_backward* options,
                                         const coda_program** derived);
CODA_API const char* coda_program_source(const coda_program* program); /* C++ */
/* CODA_BAD_ARGUMENT beyond the last port. */
CODA_API coda_status coda_get_program_port(const coda_program* program, int32_t index,
                                           coda_port* port);
/* As coda_run(), with row-major operands on the GPU; needs no workspace. */
CODA_API coda_status coda_run_program(const coda_program* program, const coda_operand* a,
                                      const coda_operand* b, const coda_argument* arguments,
                                      int32_t argument_count, const coda_options* options);

/* Why the last call on this thread failed; "" after one that did not. Valid until the next call. */
CODA_API const char* coda_last_error(void);

CODA_API const char* coda_version(void); /* "0.1.0" */
CODA_API const char* coda_commit(void);  /* of the sources it was built from */

#ifdef __cplusplus
}
#endif

#endif
