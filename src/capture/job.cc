#include "capture/job.h"

#include <algorithm>
#include <utility>

#include "math/hash.h"
#include "math/strided_copy.h"

namespace opdump::capture {
namespace {

// Large enough that a task costs more than taking it, small enough to share a weight matrix among the cores.
constexpr std::uint64_t kPieceBytes = 4 << 20;

}  // namespace

Job::Job(model::TensorView view, JobNeeds needs, dump::SlotAddress address, dump::Layout* layout)
    : view_(std::move(view)), needs_(needs), address_(address), layout_(layout), data_bytes_(view_.byte_count()) {
  if (!math::has_statistics(view_.dtype)) needs_.statistics = {};
  if (needs_.any_statistics()) {
    if (data_bytes_ >= 2 * kPieceBytes) pieces_ = math::split_view(view_, kPieceBytes);
    partials_.assign(std::max<std::size_t>(pieces_.size(), 1), math::make_partial());
  }
  task_count_ = int{needs_.file} + int{needs_.md5} + static_cast<int>(partials_.size());
  remaining_ = task_count_;
  if (task_count_ == 0) done_ = true;
}

bool Job::run(int task) {
  if (needs_.file && task-- == 0) {
    auto written = layout_->write_tensor(address_, view_);
    if (written)
      file_ = std::move(*written);
    else
      error_ = written.take_error();
  } else if (needs_.md5 && task-- == 0) {
    md5_ = math::md5_hex(view_);
  } else {
    const auto index = static_cast<std::size_t>(task);
    partials_[index] = math::partial_stats(pieces_.empty() ? view_ : pieces_[index], needs_.statistics);
  }
  if (remaining_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  finish();
  return true;
}

void Job::finish() {
  if (!partials_.empty()) {
    math::StatPartial whole = partials_[0];
    for (std::size_t i = 1; i < partials_.size(); ++i) math::merge(whole, partials_[i]);
    statistics_ = math::finish(whole);
  }
  // The data is not needed any more; results are, as long as a slot or the reuse table refers to the job.
  pieces_ = {};
  view_.data = nullptr;
  copy_.reset();
  keep_alive_ = {};
  done_.store(true, std::memory_order_release);
}

void Job::detach() {
  auto copy = std::make_unique_for_overwrite<std::byte[]>(data_bytes_);
  math::copy_row_major(view_, {copy.get(), data_bytes_});
  view_ = model::TensorView::row_major(view_.dtype, view_.shape, copy.get());
  copy_ = std::move(copy);
  keep_alive_ = {};
  held_bytes_ = data_bytes_;
  if (!pieces_.empty()) pieces_ = math::split_view(view_, kPieceBytes);
  const std::size_t pieces = std::max<std::size_t>(pieces_.size(), partials_.empty() ? 0 : 1);
  partials_.assign(pieces, math::make_partial());
  task_count_ = int{needs_.file} + int{needs_.md5} + static_cast<int>(pieces);
  remaining_ = task_count_;
}

}  // namespace opdump::capture
