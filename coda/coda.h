/* The C interface: runs an operation of the catalogue by name on tensors that the caller owns.
 * `coda list` prints the operations with their variants, ports, shapes and types. Nothing is thrown
 * across: a function gives a status, and coda_last_error() says what was expected and what came.
 * Everything is checked before anything is written. Calls from several threads are independent. */
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
  CODA_BAD_ARGUMENT = 1,  /* the call does not fit the operation; nothing was written */
  CODA_INTERNAL_ERROR = 2 /* memory ran out, or a defect in coda */
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
 * state side by side; columns and ld then count states. */
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

typedef struct coda_options {
  int32_t threads; /* 0: OpenMP's default */
  const char* isa; /* "portable", "avx2", "avx512"; NULL: the widest one the processor has */
} coda_options;
/* NOLINTEND(modernize-use-using) */

/* accumulator_i = A * B_i^T, then the operation's program on it. `variant` is one of those `coda
 * list` shows; NULL takes the first one for A's element type. `options` may be NULL. */
CODA_API coda_status coda_run(const char* operation, const char* variant, const coda_operand* a,
                              const coda_operand* b, const coda_argument* arguments,
                              int32_t argument_count, const coda_options* options);

/* Why the last call on this thread failed; "" after one that did not. Valid until the next call. */
CODA_API const char* coda_last_error(void);

CODA_API const char* coda_version(void); /* "0.1.0" */

#ifdef __cplusplus
}
#endif

#endif
