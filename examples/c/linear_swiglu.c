/* silu(A Wg^T) * (A Wu^T) in bf16 through libcoda.so, compared with plain loops.
 *   linear_swiglu         on the CPU
 *   linear_swiglu cuda    on a GPU, where this was compiled with WITH_CUDA */
#include <coda/coda.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_CUDA
#include <cuda_runtime_api.h>
#endif

enum { M = 200, N = 144, K = 96 };

typedef uint16_t bf16; /* the upper half of a float */

static float to_float(bf16 value) {
  const uint32_t bits = (uint32_t)value << 16;
  float result;
  memcpy(&result, &bits, sizeof(result));
  return result;
}

static bf16 to_bf16(float value) { /* of numbers that bf16 holds */
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return (bf16)(bits >> 16);
}

/* Memory of the device, filled from the host; NULL where there is none. */
static void* to_device(int device, const void* host, size_t bytes) {
#ifdef WITH_CUDA
  if (device == CODA_CUDA) {
    void* data = NULL;
    if (cudaMalloc(&data, bytes) != cudaSuccess) return NULL;
    return cudaMemcpy(data, host, bytes, cudaMemcpyHostToDevice) == cudaSuccess ? data : NULL;
  }
#endif
  if (device == CODA_CUDA) return NULL;
  void* data = malloc(bytes);
  if (data != NULL) memcpy(data, host, bytes);
  return data;
}

/* Waits for the call before, which a GPU may still be running. */
static int to_host(int device, void* host, const void* data, size_t bytes) {
#ifdef WITH_CUDA
  if (device == CODA_CUDA) {
    return cudaMemcpy(host, data, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
  }
#endif
  memcpy(host, data, bytes);
  return device == CODA_CPU;
}

static coda_tensor matrix(void* data, int64_t rows, int64_t columns) {
  const coda_tensor result = {data, CODA_BF16, rows, columns, columns, 0};
  return result;
}

static double dot(const bf16* a, const bf16* b) {
  double sum = 0;
  for (int k = 0; k < K; ++k) sum += (double)to_float(a[k]) * to_float(b[k]);
  return sum;
}

int main(int count, char** words) {
  static bf16 a[M * K], gate[N * K], up[N * K], out[M * N];
  for (int i = 0; i < M * K; ++i) a[i] = to_bf16((float)(i * 7 % 11 - 5) / 8);
  for (int i = 0; i < N * K; ++i) gate[i] = to_bf16((float)(i * 5 % 13 - 6) / 16);
  for (int i = 0; i < N * K; ++i) up[i] = to_bf16((float)(i * 3 % 17 - 8) / 16);

  coda_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.device = count > 1 && strcmp(words[1], "cuda") == 0 ? CODA_CUDA : CODA_CPU;

  const coda_tensor a_tensor = matrix(to_device(options.device, a, sizeof(a)), M, K);
  const coda_tensor gate_tensor = matrix(to_device(options.device, gate, sizeof(gate)), N, K);
  const coda_tensor up_tensor = matrix(to_device(options.device, up, sizeof(up)), N, K);
  const coda_tensor out_tensor = matrix(to_device(options.device, out, sizeof(out)), M, N);
  const coda_operand A = {&a_tensor, NULL, 1, CODA_CUT_NONE, 0};
  const coda_operand B = {&gate_tensor, &up_tensor, 1, CODA_CUT_NONE, 0}; /* as a pair */
  const coda_argument arguments[] = {{"out", &out_tensor, 1, 0}};

  if (coda_run("linear_swiglu", "bf16", &A, &B, arguments, 1, &options) != CODA_OK ||
      !to_host(options.device, out, out_tensor.data, sizeof(out))) {
    fprintf(stderr, "linear_swiglu: %s\n", coda_last_error());
    return EXIT_FAILURE;
  }

  int wrong = 0;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      const double g = dot(a + i * K, gate + j * K), u = dot(a + i * K, up + j * K);
      const double want = g / (1 + exp(-g)) * u;
      const double limit = 0.005 * fabs(want) + 1e-6; /* bf16 has 8 bits */
      if (!(fabs(to_float(out[i * N + j]) - want) <= limit)) ++wrong;
    }
  }
  printf("linear_swiglu %s: %d of %d values wrong\n", coda_version(), wrong, M * N);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
