// A thread of the simulated machine: a stack of its own, switched to and from without the operating
// system. All fibers of a launch live in one host thread.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

namespace coda::sim {

class Fiber {
 public:
  Fiber(size_t stack_bytes, std::function<void()> body);
  ~Fiber();  // a body that has not returned is unwound
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From outside: runs the body until it suspends or returns; true once it has returned.
  bool resume();
  // From the body.
  void suspend();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coda::sim
