// Everything about a kernel that is known when it is compiled: shapes, shared memory, barriers.
#pragma once
#include "coda/epilogue/staging.h"
#include "coda/kernel/config.h"
#include "coda/program/program.h"

namespace coda::kernel {

// T: bf16 or fp16 operands. kTileIndex: into kTileConfigs. kGivenPorts: which of the program's
// optional ports are given, by place. kSlices: whether the contraction may be cut into slices.
// kEitherPorts: optional ports that may be given or not, which is then asked when the kernel runs.
template <class ProgramType, class T, int kTileIndex, OperandMajor kMajorA, OperandMajor kMajorB,
          uint32_t kGivenPorts, bool kSlices = false, uint32_t kEitherPorts = 0>
struct KernelTraits {
  using Program = ProgramType;
  using Element = T;
  static constexpr TileConfig kTile = kTileConfigs[kTileIndex];
  static constexpr OperandMajor kA = kMajorA, kB = kMajorB;
  static constexpr uint32_t kGiven = kGivenPorts, kEither = kEitherPorts;
  static_assert(
      (kGiven & kEither) == 0 && (kEither & ~detail::vector_ports<Program>()) == 0,
      "coda: of ports that may be given or not only vectors, tables and scalars are staged "
      "either way");
  static constexpr bool kSplits = kSlices;

  static constexpr int kRows = kTile.rows, kAllColumns = kTile.columns, kStages = kTile.stages;
  static constexpr int kAccumulators = accumulators_of<Program>();
  static constexpr int kColumns = kAllColumns / kAccumulators;      // of the ports' tensors
  static constexpr bool kHalves = detail::takes_halves<Program>();  // B comes as halves of heads
  static constexpr bool kGroups = groups_of<Program>();
  static constexpr bool kPingpong = kTile.pingpong;
  static constexpr bool kNarrows = narrows(kTile, kAccumulators);
  static constexpr int kConsumerRows = kPingpong ? kRows : kRows / 2;
  static constexpr int kRowBlocks = kConsumerRows / 64;
  static constexpr int kRegisters = kAllColumns / 2;  // accumulators of a thread per row block
  static_assert(kConsumerRows % 64 == 0 && kRowBlocks * kRegisters <= 192,
                "coda: a consumer holds at most 192 accumulators per thread");
  static_assert(kRows <= 256 && kAllColumns <= 256, "coda: TMA boxes have at most 256 lines");

  // Clusters: rank r sits at (r % kClusterRows, r / kClusterRows). Blocks along M share B, along N
  // share A: each fetches its part and multicasts it.
  static constexpr int kClusterRows = kTile.cluster_rows, kClusterColumns = kTile.cluster_columns;
  static constexpr int kCluster = kClusterRows * kClusterColumns;
  static constexpr int kLinks = kClusterRows + kClusterColumns - 1;  // blocks that write into one
  static_assert(kCluster <= 8, "coda: the largest portable cluster");
  static_assert(kRows % (64 * kClusterColumns) == 0 && kAllColumns % (8 * kClusterRows) == 0);
  static_assert(kAccumulators == 1 || (kB == OperandMajor::kContraction && kClusterRows <= 2),
                "coda: two accumulators take B contraction-major and at most two blocks along M");

  static constexpr int kBytesA = kRows * kBlockDepth * 2, kBytesB = kAllColumns * kBlockDepth * 2;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  // Rows-major operands come in boxes of 64 rows × 64 contraction steps; where the boxes of B do
  // not divide among the blocks, each box is cut along the contraction.
  static constexpr int kBoxesA = kRows / 64 / kClusterColumns;
  static constexpr bool kWholeBoxesB = kAllColumns % (64 * kClusterRows) == 0;
  static constexpr int kBoxDepthB = kWholeBoxesB ? kBlockDepth : kBlockDepth / kClusterRows;
  static constexpr int kBoxesB = kWholeBoxesB ? kAllColumns / 64 / kClusterRows : kAllColumns / 64;
  static_assert(kB == OperandMajor::kContraction || kAllColumns % 64 == 0);

  // The epilogue: chunks of kChunk columns are what a program sees, sub-tiles of 64 × kSubColumns
  // what travels.
  static constexpr bool kMany =
      kRowBlocks * kRegisters > 128;  // accumulators: registers are scarce
  // Outputs whose lines are no multiple of 16 bytes take code for which there are no registers
  // then.
  static constexpr bool kAnyColumns = !kMany;
  static constexpr int kSubColumns = kTile.sub_columns;
  static constexpr int kSubsAcross = kColumns / kSubColumns;
  static constexpr int kSubs = kRowBlocks * kSubsAcross;
  static_assert(kSubColumns % 8 == 0 && kSubColumns <= 64 && kColumns % kSubColumns == 0);
  static constexpr epilogue::Staging<Program> kStaging = epilogue::stage_ports<Program>(
      kGiven | kEither, kConsumerRows, kColumns, kSubColumns, kTile.in_place);
  // Then tiles end with whole groups of eight columns, if there are outputs of two bytes.
  static constexpr bool kWholeEights = !kAnyColumns && kStaging.stores_halves;
  // Values of five tensors or of two accumulators at a time want registers as accumulators do.
  static constexpr bool kHeavy = kStaging.element_bytes > 8;
  static constexpr int kMostChunk = detail::combines_states<Program>() ? 16
                                    : kMany && (kHeavy || kHalves)     ? 8
                                    : kMany || kHeavy                  ? 16
                                                                       : 32;
  static constexpr int kChunk = epilogue::chunk_of(kSubColumns, kMostChunk);
  static constexpr int kChunks = kSubColumns / kChunk;
  static constexpr bool kReducesRows = kStaging.reduces_rows;
  static constexpr bool kReducesColumns = kStaging.column_bytes > 0;
  static_assert(!kReducesRows || kColumns % 64 == 0,
                "coda: a reducing program needs whole partials");

  static constexpr int kBarrierBytes = 512;
  static constexpr epilogue::Room kRoom = epilogue::fit_room(
      kStaging, kSubs, (kSharedMemoryLimit - kStages * kStageBytes - kBarrierBytes) / 2);
  static constexpr int kVectorBytes = kRoom.vector_bytes, kColumnBytes = kRoom.column_bytes;
  static constexpr epilogue::BufferSets kSets = kRoom.sets;
  static_assert(kSets.inputs >= 0, "coda: the epilogue's buffers do not fit beside the stages");
  static constexpr int kInputSets = kSets.inputs > 0 ? kSets.inputs : 1;
  static constexpr int kOutputSets = kSets.outputs > 0 ? kSets.outputs : 1;
  static constexpr bool kInPlace = kStaging.in_place;
  // Sub-tiles whose stores may still be reading their sets: a store waits behind the loads of the
  // mainloop, so half of the sets are on their way out and half on their way in.
  static constexpr int kStoreLag = kInputSets / 2;
  // Where no other mainloop covers the epilogue, a tile's last sets are given back under the next.
  static constexpr bool kOwesLast = kInPlace && kInputSets > 1 && !kPingpong;
  static constexpr int kInputBytes = kSets.inputs * kStaging.input_set;
  static constexpr int kEpilogueBytes = kInputBytes + kSets.outputs * kStaging.output_set;

  // Shared memory, from its start.
  static constexpr int kOffsetA = 0, kOffsetB = kOffsetA + kStages * kBytesA;
  static constexpr int kOffsetEpilogue = kOffsetB + kStages * kBytesB;
  static constexpr int kOffsetVectors = kOffsetEpilogue + 2 * kEpilogueBytes;
  static constexpr int kOffsetColumns = kOffsetVectors + 2 * kVectorBytes;
  static constexpr int kOffsetBarriers = kOffsetColumns + 2 * kColumnBytes;

  // Barriers, by number; those of the epilogue are per consumer w.
  static constexpr int kFull = 0, kEmpty = kFull + kStages;
  static constexpr int kInputFull = kEmpty + kStages;
  static constexpr int kInputEmpty = kInputFull + 2 * kInputSets;
  static constexpr int kVectorFull = kInputEmpty + 2 * kInputSets, kVectorEmpty = kVectorFull + 2;
  static constexpr int kBarriers = kVectorEmpty + 2;
  static_assert(kBarriers * 8 <= kBarrierBytes);
  static constexpr int kSharedBytes = kOffsetBarriers + kBarriers * 8;
  static_assert(kSharedBytes <= kSharedMemoryLimit && kOffsetEpilogue % 1024 == 0 &&
                kEpilogueBytes % 1024 == 0 && kOffsetBarriers % 16 == 0);

  static constexpr int kConsumersPerTile = kPingpong ? 1 : 2;
  // Slices are summed by parts: what a warp has of a cluster's tile.
  static constexpr int kPartsPerTile = kCluster * kConsumersPerTile * 4;
  static constexpr int kPartFloats = 32 * kRowBlocks * kRegisters;
  static_assert(!kSplits || !kReducesColumns,
                "coda: warps that reduce columns together cannot finish slices one by one");
  // Beside 192 accumulators every register counts; but the boxes of a rows-major operand, finishing
  // partials, and vectors and tiles next to two operands B take the feeding warps more than 24.
  static constexpr bool kFeedsMuch =
      kStaging.finishes_rows ||
      (kAccumulators == 2 && kStaging.inputs > 0 && kStaging.vector_bytes > 0);
  static constexpr bool kLeanFeeder =
      kMany && kA == OperandMajor::kContraction && kB == kA && !kFeedsMuch;
  static constexpr int kFeederRegisters = kLeanFeeder ? 24 : 40;
  static constexpr int kConsumerRegisters = kLeanFeeder ? 240 : 232;
};

}  // namespace coda::kernel
