// What a run expects of its folder. Host only.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace coda::train {

void make_folder(const std::string& path);

std::string resume_command(const std::string& run_folder);

void expect_no_checkpoint(const std::string& run_folder);
// Nor is it one, whose run is meant.
void expect_no_checkpoint_itself(const std::string& run_folder);
// A run without metrics has no plot either: whose is there is not ours to write over.
void expect_own_plot(const std::string& run_folder);
// That of `step`, or none where it is -1.
void expect_latest_checkpoint(const std::string& run_folder, int64_t step);
// Files of the run would be data, and change with every step.
void expect_other_folder(const std::string& run_folder, const std::vector<std::string>& data);

}  // namespace coda::train
