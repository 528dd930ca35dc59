// A case laid out in memory: tensors with guard bands, padding and odd addresses, in either major
// where a program takes both, and the call that names them.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coda/core/random.h"
#include "coda/tools/check_case.h"
#include "coda/tools/guarded_tensor.h"

namespace coda::tools {

class CheckedCall {
 public:
  CheckedCall(const Case& c, const catalogue::Variant& variant, const reference::Arrays& in);

  const catalogue::Call& call() const { return call_; }

  // Before a run: outputs hold nothing but poison, or the input that shares their memory.
  void reset();

  // After a run on a backend whose NaNs have bits by chance.
  void unify_nans();

  // After a run: a message for an input that changed, an element left out, or memory beside a
  // tensor overwritten; else nothing.
  std::string damage() const;

  // All memory, for a backend that has its own.
  std::vector<std::span<std::byte>> memory();

  // All bytes of all outputs, to compare runs with.
  std::vector<std::byte> output_bytes() const;

  // The outputs as matrices, by name; several members of a state as "port.0", "port.1", ...
  reference::Arrays outputs() const;

 private:
  // One tensor of a port, and where it begins in the port's matrix.
  struct Piece {
    const PortView* port;
    int64_t row, column;
    GuardedTensor tensor;
    std::vector<std::byte> original;  // of an input: what it must still be after a run
  };

  OperandView add_operand(const std::string& name, bool is_b, Random& random);
  void add_port(const PortView& port, Random& random);
  // Lines, bases: aligned as the case asks for where `aligned`, else anyhow.
  TensorView draw_view(DType type, int64_t element_bytes, Extent extent, Major major, bool aligned,
                       Random& random) const;
  void add_tensor(const PortView* port, const TensorView& view, int64_t row, int64_t column,
                  bool aligned, Random& random);
  int64_t aligned_elements(int64_t element_bytes) const {
    const int64_t bytes = case_.drawn ? 16 : case_.alignment;
    return std::max<int64_t>(bytes / element_bytes, 1);
  }

  const Case& case_;
  const catalogue::Variant& variant_;
  const reference::Arrays& in_;
  catalogue::Call call_;
  std::vector<Piece> pieces_;
  bool anyhow_ = false;  // no tensor is aligned
};

}  // namespace coda::tools
