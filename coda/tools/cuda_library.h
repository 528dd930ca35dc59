// A shared library that may be missing, found at run time.
#pragma once
#include <dlfcn.h>

#include <initializer_list>

namespace coda::tools {

class CudaLibrary {
 public:
  explicit CudaLibrary(std::initializer_list<const char*> names) {  // the first one there is
    for (const char* name : names) {
      if (handle_ == nullptr) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
  }

  // Null pointers stay null where the library or the function is missing.
  template <class Function>
  bool find(const char* name, Function*& function) const {
    if (handle_ == nullptr) return false;
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;  // never closed: its threads may outlive everything else
};

}  // namespace coda::tools
