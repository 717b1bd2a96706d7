// Changes of the memory layout, cut into parts along a dimension that both layouts keep in one piece.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "cli/array_pieces.h"
#include "math/convert.h"
#include "math/device_layout.h"
#include "math/strided_copy.h"

namespace opdump::cli {
namespace {

using model::DType;
using model::Format;
using model::Shape;
using model::TensorView;

constexpr std::uint64_t kPartBytes = 16 << 20;

// Every index of dimension `stored` of the one shape is `unit` indexes of dimension `made` of the other, and
// all dimensions of the latter before it are 1.
struct Split {
  std::size_t stored = 0, made = 0;
  std::int64_t unit = 1;
};

// Matrices with their batch dimensions joined: [batch, columns of blocks, rows of blocks, rows, columns].
Shape joined_blocks(const Shape& stored) {
  std::int64_t batch = 1;
  const std::size_t rank = stored.rank();
  for (std::size_t i = 0; i + 4 < rank; ++i) batch *= stored[i];
  return {batch, stored[rank - 4], stored[rank - 3], stored[rank - 2], stored[rank - 1]};
}

std::optional<Split> split_of_matrix(const LayoutChange& change) {
  const std::size_t rank = change.made.rank();
  if (rank != 2 && rank != 3) return std::nullopt;
  if (change.stored[0] > 1) return Split{0, 0, 1};
  return Split{2, rank - 2, change.stored[3]};
}

std::optional<Split> split_of(const LayoutChange& change) {
  const Format to = change.to;
  switch (change.from) {
    case Format::nc1hwc0:
      if (to == Format::hwcn) return Split{2, 0, 1};
      if (to == Format::nchw && change.stored[0] == 1) return Split{1, 1, change.stored[4]};
      return Split{0, 0, 1};
    case Format::ndc1hwc0:
      return Split{0, 0, 1};
    case Format::fractal_nz:
      return split_of_matrix(change);
    case Format::fractal_z:
      if (to == Format::nchw && change.groups <= 1) return Split{1, 0, change.stored[2]};
      return std::nullopt;
    case Format::nchw:
      return to == Format::nhwc ? std::optional(Split{0, 0, 1}) : std::nullopt;
    case Format::nhwc:
      if (to == Format::nchw) return Split{0, 0, 1};
      return to == Format::hwcn ? std::optional(Split{1, 0, 1}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t result = 1;
  for (const std::int64_t dim : dims) result *= dim;
  return result;
}

class LayoutPieces final : public ArrayPieces {
 public:
  LayoutPieces(Elements elements, LayoutChange change, unsigned threads)
      : elements_(std::move(elements)),
        change_(std::move(change)),
        threads_(threads),
        dtype_(file_dtype(elements_.dtype)),
        size_(model::dtype_info(dtype_).bits / 8) {
    if (change_.from == Format::fractal_nz) change_.stored = joined_blocks(change_.stored);
    if (const auto split = split_of(change_)) set_split(*split);
  }

  // Makes the first part, so that next() has it.
  Result<> begin() {
    OPDUMP_CHECK_OK(widen());
    has_first_ = true;
    return make_part();
  }

  Result<std::span<const std::byte>> next() override {
    if (!std::exchange(has_first_, false)) {
      if (done_ >= total_) return std::span<const std::byte>();
      OPDUMP_CHECK_OK(make_part());
    }
    return std::span<const std::byte>(part_);
  }

 private:
  void set_split(const Split& split) {
    split_ = split;
    total_ = change_.stored[split.stored];
    const std::uint64_t bytes = *model::element_count(change_.made) * size_;
    const std::uint64_t parts = std::max<std::uint64_t>(1, bytes / kPartBytes);
    step_ = std::max<std::int64_t>(1, total_ / static_cast<std::int64_t>(parts));
  }

  // Elements of fewer than 8 bits, or of another type than the file's, become whole ones first, all at once
  // where they do not begin at whole bytes.
  Result<> widen() {
    if (dtype_ == elements_.dtype) return ok();
    widened_.resize(elements_.count * size_);
    const auto pieces = make_pieces(Elements{elements_.dtype, elements_.count, elements_.bytes, std::nullopt,
                                             elements_.is_bug_compatible});
    for (std::size_t at = 0; at < widened_.size();) {
      OPDUMP_TRY(const auto piece, pieces->next());
      std::memcpy(widened_.data() + at, piece.data(), piece.size());
      at += piece.size();
    }
    elements_.bytes = widened_;
    return ok();
  }

  // The stored elements of part [done_, end), together.
  std::span<const std::byte> gather(std::int64_t end) {
    if (!split_) return elements_.bytes;
    const auto dims = std::as_const(change_.stored).dims();
    const std::int64_t outer = product(dims.first(split_->stored)),
                       inner = product(dims.subspan(split_->stored + 1));
    const std::size_t run = static_cast<std::size_t>((end - done_) * inner) * size_;
    const auto begin_of = [&](std::int64_t o) {
      return elements_.bytes.subspan(static_cast<std::size_t>((o * total_ + done_) * inner) * size_, run);
    };
    if (outer == 1) return begin_of(0);
    gathered_.resize(run * static_cast<std::size_t>(outer));
    for (std::int64_t o = 0; o < outer; ++o)
      std::memcpy(gathered_.data() + static_cast<std::size_t>(o) * run, begin_of(o).data(), run);
    return gathered_;
  }

  // Of `shape`, a shape after the change, what part [done_, end) makes.
  Shape part_of(Shape shape, std::int64_t end) const {
    if (!split_) return shape;
    std::int64_t& dim = shape.dims()[split_->made];
    const std::int64_t first = done_ * split_->unit;
    dim = std::clamp<std::int64_t>(end * split_->unit, first, std::max(first, dim)) - first;
    return shape;
  }

  Result<> make_part() {
    const std::int64_t end = split_ ? std::min(total_, done_ + step_) : total_;
    Shape stored = change_.stored;
    if (split_) stored.dims()[split_->stored] = end - done_;
    const auto in = gather(end);
    const TensorView view = TensorView::row_major(dtype_, stored, in.data());
    const Shape made = part_of(change_.made, end), result = part_of(change_.result, end);
    done_ = end;
    const std::uint64_t result_bytes = *model::element_count(result) * size_;
    part_.resize(result_bytes);
    // Most cuts are the padding's, which the change itself leaves out.
    if (math::convert_layout(view, change_.from, change_.to, result, change_.groups, part_, threads_))
      return forget();
    made_.resize(*model::element_count(made) * size_);
    OPDUMP_CHECK_OK(
        math::convert_layout(view, change_.from, change_.to, made, change_.groups, made_, threads_));
    TensorView rest = TensorView::row_major(dtype_, made, made_.data());
    rest.shape = result;
    math::copy_row_major(rest, part_);
    return forget();
  }

  Result<> forget() const {
    if (widened_.empty() && elements_.bytes.size() > 4 * kPartBytes) forget_pages(elements_.bytes);
    return ok();
  }

  Elements elements_;
  LayoutChange change_;
  unsigned threads_;
  DType dtype_;
  std::size_t size_;
  std::optional<Split> split_;
  std::int64_t total_ = 1, step_ = 1, done_ = 0;
  bool has_first_ = false;
  std::vector<std::byte> widened_, gathered_, made_, part_;
};

}  // namespace

Result<std::unique_ptr<ArrayPieces>> change_layout(Elements elements, LayoutChange change, unsigned threads) {
  auto pieces = std::make_unique<LayoutPieces>(std::move(elements), std::move(change), threads);
  OPDUMP_CHECK_OK(pieces->begin());
  return std::unique_ptr<ArrayPieces>(std::move(pieces));
}

}  // namespace opdump::cli
