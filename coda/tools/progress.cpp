#include "coda/tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace coda::tools {
namespace {

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  return whole < 100 ? fmt::format("{} s", whole)
                     : fmt::format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace

std::string progress_text(const std::string& what, int64_t done, int64_t total, double seconds) {
  const int64_t percent = total > 0 ? done * 100 / total : 100;
  std::string text = fmt::format("{}  {}/{}  {} %", what, done, total, percent);
  if (done > 0 && done < total) {
    const double left = seconds / static_cast<double>(done) * static_cast<double>(total - done);
    text += fmt::format(", {} left", duration(left));
  }
  return text;
}

Progress::Progress(std::string what, int64_t total)
    : what_(std::move(what)), total_(total), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear(); }

void Progress::show(int64_t done) {
  if (!terminal_) return;
  const Clock::time_point now = Clock::now();
  if (shown_ && now - last_ < std::chrono::milliseconds(100)) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  // "\033[K": the rest of an earlier, longer line goes.
  fmt::print(stderr, "\r{}\033[K", progress_text(what_, done, total_, seconds));
  std::fflush(stderr);
  shown_ = true;
  last_ = now;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace coda::tools
