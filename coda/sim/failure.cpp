#include "coda/sim/failure.h"

#include <fmt/format.h>

#include <algorithm>

namespace coda::sim {

const char* violation_name(Violation violation) {
  switch (violation) {
    case Violation::kUninitialised: return "uninitialised";
    case Violation::kInFlight: return "in flight";
    case Violation::kRace: return "race";
    case Violation::kProxy: return "proxy";
    case Violation::kBarrier: return "barrier";
    case Violation::kArrivals: return "arrivals";
    case Violation::kTransactions: return "transactions";
    case Violation::kPhase: return "phase";
    case Violation::kAddress: return "address";
    case Violation::kTensorMap: return "tensor map";
    case Violation::kDivergence: return "divergence";
    case Violation::kMultiply: return "multiply";
    case Violation::kRegisters: return "registers";
    case Violation::kExited: return "exited";
    case Violation::kLeftover: return "leftover";
    case Violation::kDeadlock: return "deadlock";
    case Violation::kEndless: return "endless";
    case Violation::kTrap: return "trap";
  }
  return "unknown";
}

std::string describe(const Actor& actor) {
  std::string text;
  if (actor.launch > 0) text += fmt::format("launch {} ", actor.launch);
  if (actor.block >= 0) text += fmt::format("block {} ", actor.block);
  if (actor.warp >= 0) text += fmt::format("warp {} ", actor.warp);
  if (actor.lane >= 0) text += fmt::format("lane {} ", actor.lane);
  if (!text.empty()) text.pop_back();
  return text;
}

std::string short_path(const std::string& path) {
  size_t last = 0;  // of the folders that it is in: the checkout may be called coda, too
  for (const char* folder : {"/coda/", "/tests/", "/bench/", "/examples/"}) {
    const size_t at = path.rfind(folder);
    if (at != std::string::npos) last = std::max(last, at + 1);
  }
  return path.substr(last);
}

namespace {

std::string message(Violation violation, const std::string& file, unsigned line, const Actor& actor,
                    const std::string& what) {
  std::string text = fmt::format("sim: {}: ", violation_name(violation));
  if (!file.empty()) text += fmt::format("{}:{}: ", short_path(file), line);
  const std::string who = describe(actor);
  if (!who.empty()) text += who + ": ";
  return text + what;
}

}  // namespace

Failure::Failure(Violation violation, const std::string& file, unsigned line, Actor actor,
                 const std::string& what)
    : Error(message(violation, file, line, actor, what)),
      violation(violation),
      file(file),
      line(line),
      actor(actor) {}

}  // namespace coda::sim
