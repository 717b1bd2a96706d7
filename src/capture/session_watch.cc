// The watching half of a session: outputs that are looked at again after other operators.
#include <utility>

#include "capture/call.h"
#include "capture/clock.h"
#include "capture/session.h"

namespace opdump::capture {
namespace {

constexpr std::size_t kMaxNotes = 100;  // in the status file; a program that does it once does it often

}  // namespace

void Session::watch(const Call& call, std::span<const Operand> outputs) {
  const model::Operator& op = call.op->op;
  for (const std::string& sentence : watcher_->check(op, outputs)) note_overwrite(sentence, call.step);
  const auto& choice = call.op->choice;
  if (choice.watched && watcher_->keep(op, call.graph_id, outputs, options_.retain, options_.release) > 0)
    report_unseen("outputs that are watched", "the engine's memory cannot be kept as it is");
  if (!choice.watches || stopped_) return;
  for (const Watcher::Again& again : watcher_->look_again(op, call.graph_id, call.step, now_us())) {
    const std::lock_guard lock(drain_mutex_);
    if (auto written = write_again(again.members); !written)
      return stop(written.error(), op.name + ", step " + std::to_string(call.step), 0);
  }
}

// What is in memory now, before the program goes on.
Result<> Session::write_again(std::span<const dump::SchemeWriter::Member> members) {
  std::uint64_t bytes = 0;
  for (const auto& [address, view] : members) bytes += view.byte_count();
  if (scheme_->writes_calls()) {
    if (auto written = scheme_->write_call(members); !written) return written.take_error();
    tensor_count_.fetch_add(members.size(), std::memory_order_relaxed);
    tensor_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return ok();
  }
  for (const auto& [address, view] : members) {
    dump::StatisticRow row{view.byte_count(), view.dtype, view.shape, {}, {}};
    if (math::has_statistics(view.dtype))
      row.values = math::finish(math::partial_stats(view, needs_.statistics));
    OPDUMP_CHECK_OK(scheme_->write_statistics(address, row));
    row_count_.fetch_add(1, std::memory_order_relaxed);
  }
  return ok();
}

void Session::note_overwrite(const std::string& sentence, std::int64_t step) {
  const std::string line = "step " + std::to_string(step) + ": " + sentence;
  say(LogLevel::warning, line);
  const std::lock_guard lock(status_mutex_);
  if (status_.warnings.size() < kMaxNotes) status_.warnings.push_back(line);
}

}  // namespace opdump::capture
