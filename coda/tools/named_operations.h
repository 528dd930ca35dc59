// The operations that a command's arguments mean: the catalogue's by name, an author's by folder or
// header, which is compiled for it.
#pragma once
#include <string>
#include <vector>

#include "coda/author/compile_host.h"

namespace coda::tools {

class NamedOperations {
 public:
  // No argument: the whole catalogue. `backend`: what authors' programs are compiled for, "none"
  // for their graphs alone; where a `variant` is named, for that one.
  NamedOperations(const std::vector<std::string>& arguments, const std::string& backend,
                  const std::string& variant = "");

  const std::vector<const catalogue::Operation*>& list() const { return list_; }

  // The catalogue's, or an author's; in builds that have the simulator.
  const catalogue::SimulatedProgram* find_simulated(const catalogue::Variant& variant) const;

 private:
  std::vector<author::LoadedProgram> programs_;
  std::vector<const catalogue::Operation*> list_;
};

// The variant of that name, of no name the first.
const catalogue::Variant& named_variant(const catalogue::Operation& operation,
                                        const std::string& name);

}  // namespace coda::tools
