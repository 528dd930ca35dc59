// Metrics are on the disk when the checkpoint of their step is. A function of the C library is
// replaced by another in this program.
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "coda/train/trainer.h"
#include "tests/train/small_run.h"

namespace {
std::function<int()> sync_file;
}  // namespace

extern "C" int fdatasync(int) { return sync_file(); }

namespace coda::train {
namespace {

using SyncedMetrics = SmallRun;

TEST_F(SyncedMetrics, AreOnTheDiskBeforeEveryCheckpoint) {
  std::vector<int64_t> saved, written;  // when they are synced
  sync_file = [&] {
    const auto latest = checkpoint::latest_checkpoint(run_folder());
    saved.push_back(latest ? latest->step : 0);
    written.push_back(read_metrics(path("run/metrics.jsonl")).steps.back().step);
    return 0;
  };
  whole();
  EXPECT_EQ(saved, (std::vector<int64_t>{0, 4, 8}));
  EXPECT_EQ(written, (std::vector<int64_t>{4, 8, 12}));
}

TEST_F(SyncedMetrics, ThatAreNotThereAreAnError) {
  sync_file = [] {
    errno = EIO;
    return -1;
  };
  expect_error([&] { whole(); }, {path("run/metrics.jsonl"), "Input/output error"});
  EXPECT_FALSE(checkpoint::latest_checkpoint(run_folder()));
}

}  // namespace
}  // namespace coda::train
