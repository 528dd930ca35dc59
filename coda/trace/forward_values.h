// Values of the forward program inside the derived one: read back where they were stored, else
// computed again from what is there, else rebuilt from a stored value that they went into
// (x = (x·r)/r for a factor that is no zero, x = (x + b) − b for a term that is no mask). Host
// only.
#pragma once
#include <optional>

#include "coda/trace/builder.h"
#include "coda/trace/derive.h"
#include "coda/trace/derived_ports.h"

namespace coda::trace {

class ForwardValues {
 public:
  // Of one segment. accumulators: the forward's are the derived program's too. element: of what
  // the forward program would have to store.
  ForwardValues(const Graph& forward, const std::vector<Output>& outputs, bool accumulators,
                const std::vector<std::string>& saved, DType element, Builder& builder,
                DerivedPorts& ports);

  int value(int node);  // place in the derived graph

  // Accumulators that neither a stored value nor the GEMM gives: the forward has to store them.
  const std::vector<int>& missing() const { return missing_; }
  const std::vector<int>& read_back() const { return read_back_; }  // Store ports

 private:
  enum class Source { kNone, kLeaf, kStored, kComputed, kRebuilt };
  struct How {
    Source source = Source::kNone;
    int through = -1;  // the stored port, or the node that it is rebuilt from
    int member = 0;
  };
  void find_sources(const std::vector<Output>& outputs, bool accumulators,
                    const std::vector<std::string>& saved);
  bool rebuild_operands(int node);
  bool is_no_zero(int node) const;
  void find_masks();
  int make(int node);
  int rebuilt(int node, int through);

  const Graph& forward_;
  DType element_;
  Builder& builder_;
  DerivedPorts& ports_;
  std::vector<How> how_;
  std::vector<bool> may_mask_;  // of each node
  std::vector<std::optional<int>> made_;
  std::vector<int> missing_, read_back_;
};

}  // namespace coda::trace
