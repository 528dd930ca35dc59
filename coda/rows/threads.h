// How many threads a row operation runs on the CPU. Host only.
#pragma once
#include "coda/cpu/threads.h"

namespace coda::row {
using cpu::thread_count;
}
