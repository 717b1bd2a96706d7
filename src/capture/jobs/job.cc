#include "capture/jobs/job.h"

#include <algorithm>
#include <new>
#include <utility>

#include "math/hash.h"
#include "math/layout/strided_copy.h"

namespace opdump::capture {
namespace {

// Large enough that a task costs more than claiming it, small enough to share a weight matrix among the
// cores.
constexpr std::uint64_t kPieceBytes = 4 << 20;

}  // namespace

math::Statistics given_statistics(const double* numbers) {
  math::Statistics statistics{};
  statistics.max = numbers[0];
  statistics.min = numbers[1];
  statistics.avg = numbers[2];
  statistics.l2norm = numbers[3];
  return statistics;
}

Job::Job(model::TensorView view, JobNeeds needs, dump::SlotAddress address, dump::SchemeWriter* scheme)
    : view_(std::move(view)),
      needs_(needs),
      address_(address),
      scheme_(scheme),
      data_bytes_(view_.byte_count()) {
  if (!math::has_statistics(view_.dtype)) needs_.statistics = {};
  plan_tasks();
  if (task_count_ == 0) done_ = true;
}

Job::Job(std::vector<std::shared_ptr<Job>> members, dump::SchemeWriter* scheme)
    : needs_{.file = true}, scheme_(scheme), members_(std::move(members)), task_count_(1), remaining_(1) {
  for (const auto& member : members_) data_bytes_ += member->data_bytes();
}

Job::Job(const double* statistics)
    : given_(statistics), data_bytes_(4 * sizeof(double)), task_count_(1), remaining_(1) {}

void Job::plan_tasks() {
  if (needs_.any_statistics()) {
    if (data_bytes_ >= 2 * kPieceBytes) pieces_ = math::split_view(view_, kPieceBytes);
    partials_.assign(std::max<std::size_t>(pieces_.size(), 1), math::make_partial());
  }
  task_count_ = int{needs_.file} + int{needs_.md5} + int{needs_.sha1} + int{needs_.xxh128} +
                static_cast<int>(partials_.size());
  remaining_ = task_count_;
}

bool Job::run(int task) {
  // Nothing may escape into a thread of ours, and so end the watched program: the memory can run out anywhere
  // here.
  try {
    run_part(task);
  } catch (const std::exception& e) {
    fail(Error(Code::internal, e.what()));
  }
  if (remaining_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  finish();
  return true;
}

void Job::run_part(int task) {
  if (!keep_alive_.wait()) return fail(Error(Code::io, "the device did not deliver a tensor"));
  if (given_) {
    statistics_ = given_statistics(given_);
  } else if (needs_.file && task-- == 0) {
    auto written = members_.empty() ? scheme_->write_tensor(address_, view_) : write_container();
    if (written)
      file_ = std::move(*written);
    else
      fail(written.take_error());
  } else if (needs_.md5 && task-- == 0) {
    md5_ = math::md5_hex(view_);
  } else if (needs_.sha1 && task-- == 0) {
    sha1_ = math::sha1_hex(view_);
  } else if (needs_.xxh128 && task-- == 0) {
    xxh128_ = math::xxh128_hex(view_);
  } else {
    const auto index = static_cast<std::size_t>(task);
    partials_[index] = math::partial_stats(pieces_.empty() ? view_ : pieces_[index], needs_.statistics);
  }
}

Result<std::filesystem::path> Job::write_container() {
  std::vector<dump::SchemeWriter::Member> parts;
  for (const auto& member : members_) {
    if (member->error_) return *member->error_;
    parts.push_back({member->address_, member->view_});
  }
  return scheme_->write_call(parts);
}

// Several tasks may fail at once; the first one is reported.
void Job::fail(Error error) {
  if (!failed_.exchange(true)) error_ = std::move(error);
}

void Job::finish() {
  if (!partials_.empty()) {
    for (std::size_t i = 1; i < partials_.size(); ++i) math::merge(partials_[0], partials_[i]);
    statistics_ = math::finish(partials_[0]);
  }
  // The data is not needed any more; results are, as long as a slot or the reuse table refers to the job.
  forget();
  for (const auto& member : members_) member->forget();
  done_.store(true, std::memory_order_release);
}

void Job::forget() {
  pieces_ = {};
  partials_ = {};
  view_.data = nullptr;
  copy_.reset();
  keep_alive_ = {};
}

void Job::abandon() {
  fail(Error(Code::limit, "no memory to keep a copy of " + std::to_string(data_bytes_) + " bytes"));
  forget();
  task_count_ = 0;
  done_.store(true, std::memory_order_release);
}

bool Job::detach() {
  if (!keep_alive_.wait()) return false;
  try {
    auto copy = std::make_unique_for_overwrite<std::byte[]>(data_bytes_);
    math::copy_row_major(view_, {copy.get(), data_bytes_});
    Job copied(model::TensorView::row_major(view_.dtype, view_.shape, copy.get()), needs_, address_, scheme_);
    // From here on nothing can fail.
    copy_ = std::move(copy);
    view_ = std::move(copied.view_);
    pieces_ = std::move(copied.pieces_);
    partials_ = std::move(copied.partials_);
    task_count_ = copied.task_count_;
    remaining_ = copied.task_count_;
  } catch (const std::bad_alloc&) {
    return false;
  }
  keep_alive_ = {};
  held_bytes_ = data_bytes_;
  return true;
}

}  // namespace opdump::capture
