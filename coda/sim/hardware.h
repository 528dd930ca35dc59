// The instruction layer of coda/ptx/, on the host.
#pragma once
#include "coda/sim/barrier.h"
#include "coda/sim/global.h"
#include "coda/sim/number.h"
#include "coda/sim/shared.h"
#include "coda/sim/thread.h"
#include "coda/sim/tma.h"
#include "coda/sim/wgmma.h"
