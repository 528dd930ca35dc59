#include "coda/trace/layout.h"

namespace coda::trace {
namespace {

thread_local Builder* current = nullptr;

}  // namespace

Recording::Recording(Builder& builder) : before_(current) { current = &builder; }
Recording::~Recording() { current = before_; }
Builder& Recording::builder() { return *current; }

}  // namespace coda::trace
