// Changes of the memory layout, made part by part.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "arrays/pieces.h"
#include "base/file/scratch.h"
#include "base/worker_pool.h"
#include "math/layout/layout_parts.h"

namespace opdump::arrays {
namespace {

using math::LayoutParts;
using math::PartOrder;
using model::DType;
using model::Shape;
using model::TensorView;

constexpr std::size_t kFastBytes = 256 << 10;    // of a part: what it is made of and itself fit into a cache
constexpr std::size_t kInOrderBytes = 16 << 20;  // large, so that it reads few parts of blocks

// What is left of rows that are handed out one after the other if `kept` is cut out of `shape`.
class RowCutter {
 public:
  RowCutter(const Shape& shape, const Shape& kept, std::size_t element_bytes)
      : shape_(shape), kept_(kept), size_(static_cast<std::int64_t>(element_bytes)) {}

  // Appends what is kept of `bytes`, which follow what was taken before.
  void take(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
    const std::size_t last = shape_.rank() - 1;
    while (!bytes.empty()) {
      const std::int64_t row = done_ / shape_[last], at = done_ % shape_[last];
      const auto left = static_cast<std::int64_t>(bytes.size()) / size_;
      const std::int64_t count = std::min(shape_[last] - at, left);
      const std::int64_t kept = std::clamp<std::int64_t>(kept_[last] - at, 0, count);
      if (is_kept(row)) {
        const auto part = bytes.first(static_cast<std::size_t>(kept * size_));
        out.insert(out.end(), part.begin(), part.end());
      }
      bytes = bytes.subspan(static_cast<std::size_t>(count * size_));
      done_ += count;
    }
  }

 private:
  bool is_kept(std::int64_t row) const {
    for (std::size_t i = shape_.rank() - 1; i-- > 0; row /= shape_[i])
      if (row % shape_[i] >= kept_[i]) return false;
    return true;
  }

  Shape shape_, kept_;
  std::int64_t size_, done_ = 0;  // done_: elements of `shape`
};

class LayoutPieces final : public ArrayPieces {
 public:
  LayoutPieces(Elements elements, LayoutChange change, unsigned threads)
      : elements_(std::move(elements)), change_(std::move(change)), threads_(threads) {}

  // Refuses what cannot be done.
  Result<> begin() {
    OPDUMP_CHECK_OK(unpack());
    if (auto parts = make_parts(change_.result, PartOrder::fast)) {
      fast_ = std::move(*parts);
      return ok();
    }
    // Most cuts are the padding's, which the change leaves out.
    OPDUMP_TRY(in_order_, make_parts(change_.made, PartOrder::as_result));
    cutter_.emplace(change_.made, change_.result, size_of(elements_.dtype));
    return ok();
  }

  Result<std::span<const std::byte>> next() override {
    if (!in_order_) {
      OPDUMP_TRY(in_order_, make_parts(change_.result, PartOrder::as_result));
    }
    Buffers& buffers = buffers_;
    buffers.part.resize(in_order_->buffer_bytes());
    std::span<const std::byte> piece;
    const auto take = [&](std::uint64_t, std::span<const std::byte> bytes) -> Result<> {
      if (cutter_) {
        buffers.cut.clear();
        cutter_->take(bytes, buffers.cut);
        bytes = buffers.cut;
      }
      piece = widen(bytes, buffers.wide);
      return ok();
    };
    while (piece.empty() && done_ < in_order_->count())
      OPDUMP_CHECK_OK(in_order_->make_part(done_++, buffers.part, take));
    return piece;
  }

  bool can_scatter() const override { return fast_.has_value(); }

  Result<> scatter(const Take& take) override {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> is_wrong{false};
    std::mutex mutex;  // guards result
    Result<> result = ok();
    const auto work = [&](std::size_t) {
      Buffers buffers;
      buffers.part.resize(fast_->buffer_bytes());
      for (std::size_t i; !is_wrong && (i = next.fetch_add(1)) < fast_->count();) {
        auto made = make_fast_part(i, buffers, take);
        if (made) continue;
        is_wrong = true;
        const std::lock_guard lock(mutex);
        result = std::move(made);
      }
    };
    const std::size_t workers = std::min<std::size_t>(std::max(1u, threads_), fast_->count());
    parallel_for(workers, static_cast<unsigned>(workers), work);
    return result;
  }

 private:
  struct Buffers {
    std::vector<std::byte> part, cut, wide;
  };

  static std::size_t size_of(DType dtype) { return model::dtype_info(dtype).bits / 8; }

  Result<LayoutParts> make_parts(const Shape& shape, PartOrder order) const {
    const TensorView view = TensorView::row_major(elements_.dtype, change_.stored, elements_.bytes.data());
    return LayoutParts::make(view, change_.from, change_.to, shape, change_.groups,
                             order == PartOrder::fast ? kFastBytes : kInOrderBytes, order);
  }

  Result<> make_fast_part(std::size_t index, Buffers& buffers, const Take& take) const {
    const std::uint64_t from = size_of(elements_.dtype), to = size_of(file_dtype(elements_.dtype));
    return fast_->make_part(index, buffers.part, [&](std::uint64_t offset, std::span<const std::byte> bytes) {
      return take(offset / from * to, widen(bytes, buffers.wide));
    });
  }

  // Elements of fewer than 8 bits become whole ones first, all at once: those that a part needs need not
  // begin at whole bytes.
  Result<> unpack() {
    if (size_of(elements_.dtype) > 0) return ok();
    const std::size_t size = size_of(file_dtype(elements_.dtype));
    OPDUMP_TRY(unpacked_, Scratch::make(elements_.count * size));
    const auto pieces = make_pieces(Elements{elements_.dtype, elements_.count, elements_.bytes, std::nullopt,
                                             elements_.is_bug_compatible});
    for (std::size_t at = 0; at < unpacked_.bytes().size();) {
      OPDUMP_TRY(const auto piece, pieces->next());
      std::memcpy(unpacked_.data() + at, piece.data(), piece.size());
      at += piece.size();
    }
    elements_.bytes = unpacked_.bytes();
    elements_.dtype = file_dtype(elements_.dtype);
    return ok();
  }

  // `bytes` with the type of the file.
  std::span<const std::byte> widen(std::span<const std::byte> bytes, std::vector<std::byte>& wide) const {
    const DType dtype = file_dtype(elements_.dtype);
    if (dtype == elements_.dtype) return bytes;
    const std::uint64_t count = bytes.size() / size_of(elements_.dtype);
    wide.resize(count * size_of(dtype));
    convert_to_file(elements_, bytes.data(), wide.data(), count);
    return wide;
  }

  Elements elements_;
  LayoutChange change_;
  unsigned threads_;
  Scratch unpacked_;
  std::optional<LayoutParts> fast_, in_order_;
  std::optional<RowCutter> cutter_;
  Buffers buffers_;  // of next()
  std::size_t done_ = 0;
};

}  // namespace

Result<std::unique_ptr<ArrayPieces>> change_layout(Elements elements, LayoutChange change, unsigned threads) {
  auto pieces = std::make_unique<LayoutPieces>(std::move(elements), std::move(change), threads);
  OPDUMP_CHECK_OK(pieces->begin());
  return std::unique_ptr<ArrayPieces>(std::move(pieces));
}

}  // namespace opdump::arrays
