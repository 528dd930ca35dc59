// Time by operation, taken around the nodes of a model that runs on the CPU, or that waits for its
// device after every node.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "coda/block/model.h"
#include "coda/train/summary.h"

namespace coda::train {

class Profile {
 public:
  // Until it goes or stops, the model's nodes are timed.
  explicit Profile(block::Model& model);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  void start();
  void stop();
  std::vector<OperationTime> times() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Sum {
    int64_t calls = 0;
    double seconds = 0;
  };

  block::Model& model_;
  Clock::time_point begin_;
  std::map<std::string, Sum> sums_;
};

}  // namespace coda::train
