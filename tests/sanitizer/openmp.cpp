// Shows that ThreadSanitizer understands OpenMP here: `openmp ordered` shares memory correctly and
// must stay silent, `openmp race` does not and must be reported.
#include <omp.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

long ordered() {
  std::vector<long> values(1000, 1);
  long sum = 0;
#pragma omp parallel num_threads(4)
  {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 1000; ++i) values[i] += i;
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += values[999 - i];
#pragma omp critical
    values[0] += omp_get_thread_num();
#pragma omp barrier
    if (omp_get_thread_num() == 1) sum += values[0];
  }
  return sum;
}

long race() {
  long sum = 0;
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 1000; ++i) sum += i;
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bool racing = argc == 2 && std::strcmp(argv[1], "race") == 0;
  std::printf("%ld\n", racing ? race() : ordered());
}
