// Nothing is thrown across the C interface: what is thrown inside becomes a status and a message.
#pragma once
#include <exception>
#include <new>
#include <string>

#include "coda/coda.h"
#include "coda/core/error.h"

namespace coda::catalogue {

inline thread_local std::string last_error;

// Where memory ran out the message may not fit either; the status still tells.
inline void remember(const char* message) noexcept {
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();
  }
}

// Runs what may throw, and turns what it throws into a status and a message.
template <class Function>
coda_status guarded(Function&& function) noexcept {
  try {
    function();
    last_error.clear();
    return CODA_OK;
  } catch (const DeviceError& error) {
    remember(error.what());
    return CODA_DEVICE_ERROR;
  } catch (const Error& error) {
    remember(error.what());
    return CODA_BAD_ARGUMENT;
  } catch (const std::bad_alloc&) {
    remember("out of memory");
  } catch (const std::exception& error) {
    remember(error.what());
  } catch (...) {
    remember("unknown error");
  }
  return CODA_INTERNAL_ERROR;
}

}  // namespace coda::catalogue
