// Converts a layout part by part, each part from the whole input: for tensors larger than memory, for several
// threads, and so that a part is still in the cache when it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/file/resident.h"
#include "base/result.h"
#include "math/layout/layout_plan.h"
#include "model/format.h"
#include "model/shape.h"
#include "model/tensor_view.h"

namespace opdump::math {

enum class PartOrder : std::uint8_t {
  as_result,  // each part is one stretch of the result, and follows the one before it
  fast,       // parts read whole blocks of the input, and may be several stretches of the result
};

class LayoutParts {
 public:
  // The change that convert_layout(in, from, to, shape_to, groups, ...) makes, in parts of about
  // `part_bytes`. What `in` points to must stay. Errors: as convert_layout; unsupported -- `from` is `to`.
  static Result<LayoutParts> make(const model::TensorView& in, model::Format from, model::Format to,
                                  const model::Shape& shape_to, std::int64_t groups, std::size_t part_bytes,
                                  PartOrder order);

  std::size_t count() const { return count_; }
  // What every part is made in, in bytes.
  std::size_t buffer_bytes() const { return reader_ ? 2 * buffer_bytes_ : buffer_bytes_; }

  // Makes part `index` in `buffer`, and calls visit() for its stretches, in order, with their offset in the
  // result in bytes. Thread-safe.
  using Visit = std::function<Result<>(std::uint64_t offset, std::span<const std::byte> bytes)>;
  Result<> make_part(std::size_t index, std::span<std::byte> buffer, const Visit& visit) const;

 private:
  // A loop of the result, outermost first.
  struct Loop {
    StoredLoop of;
    bool is_group = false;
    std::int64_t near = 1;                       // with so many indexes at once whole blocks are read
    std::int64_t in_stride = 0, in_indexes = 1;  // elements of the input from one to so many indexes later
  };
  struct Position;

  LayoutParts() = default;
  void list_plain_loops();
  void list_stored_loops();
  void choose(std::size_t part_bytes, PartOrder order);
  void place_in_buffer();
  std::int64_t windows_in(std::size_t loop, std::int64_t count) const;
  std::int64_t windows_below(std::size_t loop) const;
  std::size_t choose_inner(std::size_t part_bytes) const;
  std::int64_t bytes_near_part() const;
  std::int64_t parts_of(std::size_t loop) const;
  Position position_of(std::size_t index) const;

  model::TensorView in_;
  LayoutPlan plan_;
  bool from_stored_ = true;
  std::int64_t size_ = 1;  // bytes of an element
  std::vector<Loop> loops_;
  // A part has one index of each loop before outer_, up to outer_step_ of outer_, one of each until inner_,
  // up to inner_step_ of that, and all of the rest. If inner_ is outer_ it is a single stretch; else
  // stretches begin stretch_ elements apart in the buffer.
  std::size_t outer_ = 0, inner_ = 0;
  std::vector<std::size_t> digits_;  // of the number of a part: which loop they count, the slowest first
  std::int64_t outer_step_ = 1, inner_step_ = 1, stretch_ = 0;
  std::size_t count_ = 0, buffer_bytes_ = 0;
  std::optional<MappingFile> reader_;  // if parts look into too many places to map them
};

}  // namespace opdump::math
