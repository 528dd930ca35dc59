#include "coda/tools/openblas.h"

#include "coda/core/error.h"

#if defined(CODA_HAS_OPENBLAS)
#if __has_include(<cblas-openblas.h>)
#include <cblas-openblas.h>  // Debian's name, safe from another library's cblas.h
#else
#include <cblas.h>
#endif
#include <fmt/format.h>

#include <sstream>
#endif

namespace coda::tools {

#if defined(CODA_HAS_OPENBLAS)

bool has_openblas() { return true; }

std::string openblas_name() {
  std::istringstream config(openblas_get_config());  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  std::string name, version;
  config >> name >> version;
  return fmt::format("{}, kernels for {}", version, openblas_get_corename());
}

void openblas_gemm(int64_t M, int64_t N, int64_t K, const float* a, const float* b, float* c,
                   int threads) {
  openblas_set_num_threads(threads);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(M),
              static_cast<blasint>(N), static_cast<blasint>(K), 1.0f, a, static_cast<blasint>(K), b,
              static_cast<blasint>(K), 0.0f, c, static_cast<blasint>(N));
}

#else

bool has_openblas() { return false; }
std::string openblas_name() { return ""; }
void openblas_gemm(int64_t, int64_t, int64_t, const float*, const float*, float*, int) {
  throw Error("this build has no OpenBLAS");
}

#endif

}  // namespace coda::tools
