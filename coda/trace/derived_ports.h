// The ports of a derived program while it is being made, each added when it is first used. Host
// only.
#pragma once
#include "coda/trace/graph.h"

namespace coda::trace {

class DerivedPorts {
 public:
  explicit DerivedPorts(const Graph& forward) : forward_(forward) {}

  enum class Role { kForward, kSaved, kIncoming, kGradient };

  int forward_input(int port);
  // order: among those of the same role; ports of one name are one only where they come from the
  // same, by role and order.
  int saved(const std::string& name, DType type, int segments, bool paired, int order);
  int incoming(const std::string& name, PortKind kind, DType type, int segments, bool paired,
               int order);
  int store(const std::string& name, DType type, int segments, bool paired, int order);
  int reduction(const std::string& name, PortKind kind, int order);

  bool contains(const std::string& name) const;

  // Inputs first, in the order of the forward program; nodes and outputs are renumbered.
  void move_into(Graph& derived) const;

 private:
  struct Entry {
    PortView view;
    PortFacts facts;
    Role role;
    int order;
  };
  bool is_forward(const std::string& name) const;  // a port of the forward program
  int add(PortView view, PortFacts facts, Role role, int order = 0);

  const Graph& forward_;
  std::vector<Entry> entries_;
};

}  // namespace coda::trace
