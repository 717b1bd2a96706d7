// fingerprints.bin: a few statistics and the XXH128 of every tensor that a recording has seen, in blocks that
// are only ever appended. Page: docs/formats/fingerprints.md. All numbers are little endian; a varint is
// LEB128, a signed one zigzag. A block:
//
//   0   8  "OPDUMPFP"
//   8   4  version: 2              12  4  number of the block in its stream: 0, 1, ...
//   16  8  stream                  24  4  number of the block with which the stream began anew
//   28  4  rows, at most 65536     32  4  bytes of the body, at most 16 MiB
//   36  4  CRC-32 of the body      40  4  CRC-32 of the 40 bytes before
//   44     body
//
// A stream is what one writer appends: processes that share the file, and recordings one after the other,
// have streams of their own. What a body says is not said again in later blocks of the stream until it begins
// anew, which it does now and then, so that a damaged block does not spoil all that follows. The body:
//
//   moves       varint count; each: step, graph that its earlier rows have, graph that they are of (signed)
//   parts       varint count; each: step, graph (signed), varint rows
//   texts       varint count; each: varint bytes, the bytes. Numbered on from the stream's last one
//   slots       varint count; each: texts of operator type, name and dtype, signed stream of the engine,
//               byte side (0 input), varint index, varint rank, signed dimensions. Numbered on as well
//   slot of each row      } runs: varint of how many are as predicted, varint of the next one, and so on
//   content of each row   }
//   time of each row      signed difference to the row before, in microseconds; the first of a stream
//               to 0
//   contents    max, min, avg, l2norm: a byte 4 or 8, then floats of this size; NaN count: a byte 0 (all are
//               0) or 1 (varints); XXH128: 16 bytes each
//
// Predicted is the slot that came after this row's last time, and its content: 0, an own one (the next of
// `contents`), or N + 1, the last content of slot N, because what one operator makes another one reads.
// Floats have 4 bytes if these print the same six digits, which is what tables of statistics hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/dtype.h"
#include "model/operator.h"
#include "model/shape.h"

namespace opdump::format {

inline constexpr std::string_view kFingerprintsName = "fingerprints.bin";
inline constexpr std::string_view kFingerprintsMagic = "OPDUMPFP";
inline constexpr std::uint32_t kFingerprintsVersion = 2;
inline constexpr std::size_t kFingerprintHeaderBytes = 44;
inline constexpr std::uint32_t kMaxFingerprintRows = 1 << 16;
inline constexpr std::uint32_t kMaxFingerprintBytes = 16 << 20;

// What rows of the same slot have in common.
struct FingerprintSlot {
  std::string op_type, op_name;
  std::int64_t stream = 0;
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  model::DType dtype = model::DType::undefined;
  model::Shape shape{};
};

// The same, of texts that are somebody else's.
struct FingerprintSlotView {
  std::string_view op_type, op_name;
  std::int64_t stream = 0;
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  model::DType dtype = model::DType::undefined;
  const model::Shape& shape;
};

struct FingerprintContent {
  double max = 0, min = 0, avg = 0, l2norm = 0;
  std::uint64_t nan_count = 0;
  std::array<std::byte, 16> hash{};
};

// When and where a row was made.
struct FingerprintMoment {
  std::int64_t step = 0, graph_id = 0;
  std::uint64_t time_us = 0;
};

// Rows to blocks of one stream.
class FingerprintEncoder {
 public:
  // `stream` is unlike those of all other writers of the file.
  explicit FingerprintEncoder(std::uint64_t stream);
  FingerprintEncoder(FingerprintEncoder&&) noexcept;
  FingerprintEncoder& operator=(FingerprintEncoder&&) noexcept;
  ~FingerprintEncoder();

  void add(const FingerprintMoment& moment, const FingerprintSlotView& slot,
           const FingerprintContent& content);
  // The step turned out to be of another graph: so are its rows until now.
  void move(std::int64_t step, std::int64_t from, std::int64_t to);

  // What take_block() would take.
  bool is_empty() const;
  // Whether a block should be taken before the next row: a larger one may not be read.
  bool is_full() const;
  // The rows and moves until now as a block.
  std::string take_block();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What the rows of a file refer to by number. It only grows.
struct FingerprintTable {
  std::deque<FingerprintSlot> slots{};
  std::deque<FingerprintContent> contents{};
};

struct FingerprintRow {
  FingerprintMoment moment{};
  std::uint32_t slot = 0, content = 0;  // in the table
};

struct FingerprintHeader {
  std::uint64_t stream = 0;
  std::uint32_t number = 0, first = 0, row_count = 0, body_bytes = 0, body_crc = 0;
  std::uint64_t block_bytes() const { return kFingerprintHeaderBytes + std::uint64_t{body_bytes}; }
};

// Decodes the header that `bytes` begin with. Errors: corrupt, unsupported (a later version), limit.
Result<FingerprintHeader> decode_fingerprint_header(std::span<const std::byte> bytes);

// Blocks to rows, of all streams of a file.
class FingerprintDecoder {
 public:
  FingerprintDecoder();
  FingerprintDecoder(FingerprintDecoder&&) noexcept;
  FingerprintDecoder& operator=(FingerprintDecoder&&) noexcept;
  ~FingerprintDecoder();

  struct Take {
    std::function<void(const FingerprintRow& row)> row;
    // Rows of the step and of graph `from` that came before are of graph `to`.
    std::function<void(std::int64_t step, std::int64_t from, std::int64_t to)> move;
  };
  // Adds slots and contents to `table`, and hands over the rows of the block. All of a block is looked at
  // before anything of it is taken. Errors: corrupt; not_found -- one is missing that it refers to.
  // Later blocks of its stream are then refused until it begins anew.
  Result<> decode(const FingerprintHeader& header, std::span<const std::byte> body, FingerprintTable& table,
                  const Take& take);

 private:
  struct Stream;
  std::map<std::uint64_t, std::unique_ptr<Stream>> streams_;
};

}  // namespace opdump::format
