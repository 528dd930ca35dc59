// A program whose type only its text has (trace/print_cpp.h), filled in with a call's arguments:
// what bind<P>() gives, as bytes. The sources that are compiled from the text assert that the
// struct has as many.
#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "coda/program/bind.h"

namespace coda::author {

// Of the struct, ports one after the other. Every port is one tensor or a scalar of fp32.
size_t program_bytes(const ProgramView& program);

class BoundProgram {
 public:
  // Throws coda::Error for an argument that is unknown, doubled or of a wrong type; missing ones
  // are left to validate().
  BoundProgram(const ProgramView& program, std::span<const Argument> arguments);

  const ProgramView& view() const { return view_; }
  const void* data() const { return bytes_.data(); }

 private:
  static constexpr size_t kMostBytes = kMaxPorts * sizeof(Store<float>);
  ProgramView view_;
  alignas(Store<float>) std::array<std::byte, kMostBytes> bytes_{};
};

}  // namespace coda::author
