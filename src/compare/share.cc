#include "compare/share.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "compare/names.h"

namespace opdump::compare {
namespace {

void append_slot(std::string& text, const dump::Slot* slot) {
  if (slot == nullptr) {
    text += "-\n";
    return;
  }
  text +=
      slot_name(*slot) + " " +
      (slot->file.empty() ? slot->undumped_reason : std::filesystem::path(slot->file).filename().string()) +
      "\n";
}

// Equal for processes that would measure the same.
std::string description(std::span<const Task> tasks, const std::array<const dump::DumpSet*, 2>& dumps) {
  std::string text;
  for (const dump::DumpSet* dump : dumps) {
    for (const dump::OperatorRun& run : dump->runs())
      text += std::to_string(run.rank) + " " + std::to_string(run.step) + " " + operator_name(run) + "\n";
    for (const dump::Problem& problem : dump->problems()) text += problem.what + "\n";
  }
  for (const Task& task : tasks) {
    text += std::to_string(task.bytes) + "\n";
    append_slot(text, task.slot->golden);
    append_slot(text, task.slot->actual);
  }
  return text;
}

// ---- Results as bytes. The processes are the same program on machines of the same kind.

template <typename T>
void put(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_result(std::string& out, std::uint64_t index, const SlotComparison& slot) {
  put(out, index);
  put(out, slot.verdict);
  put(out, slot.from_statistics);
  put(out, slot.dtype);
  put(out, slot.bytes);
  put(out, slot.shape.has_value());
  const std::uint64_t rank = slot.shape ? slot.shape->rank() : 0;
  put(out, rank);
  for (std::uint64_t axis = 0; axis < rank; ++axis) put(out, (*slot.shape)[axis]);
  put(out, slot.metrics.has_value());
  put(out, slot.metrics.value_or(math::Metrics()));
  put(out, static_cast<std::uint64_t>(slot.reason.size()));
  out += slot.reason;
}

class ResultReader {
 public:
  explicit ResultReader(std::string_view rest) : rest_(rest) {}
  bool is_empty() const { return rest_.empty(); }
  bool is_ok() const { return ok_; }

  template <typename T>
  T take() {
    T value{};
    if (rest_.size() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string take_text() {
    const auto size = take<std::uint64_t>();
    if (size > rest_.size()) {
      fail();
      return {};
    }
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  std::optional<model::Shape> take_shape() {
    const bool is_known = take<bool>();
    std::vector<std::int64_t> dims;
    for (auto left = take<std::uint64_t>(); left > 0 && ok_; --left) dims.push_back(take<std::int64_t>());
    return is_known ? std::optional(model::Shape(dims)) : std::nullopt;
  }

 private:
  void fail() {
    ok_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool ok_ = true;
};

// Fills in the results of one process. False if they are not whole.
bool take_results(std::span<Task> tasks, std::string_view text, std::vector<bool>& is_done) {
  ResultReader in(text);
  while (!in.is_empty()) {
    const auto index = in.take<std::uint64_t>();
    SlotComparison result;
    result.verdict = in.take<Verdict>();
    result.from_statistics = in.take<bool>();
    result.dtype = in.take<model::DType>();
    result.bytes = in.take<std::uint64_t>();
    result.shape = in.take_shape();
    const bool has_metrics = in.take<bool>();
    const auto metrics = in.take<math::Metrics>();
    if (has_metrics) result.metrics = metrics;
    result.reason = in.take_text();
    if (!in.is_ok() || index >= tasks.size()) return false;
    SlotComparison& slot = *tasks[index].slot;
    result.golden = slot.golden;
    result.actual = slot.actual;
    slot = std::move(result);
    is_done[index] = true;
  }
  return true;
}

}  // namespace

Result<> share_tasks(std::span<Task> tasks, const dump::DumpSet& golden, const dump::DumpSet& actual,
                     const Options& options, std::vector<std::string>& incomplete) {
  const auto measure = [&](std::span<const std::size_t> pieces) {
    std::vector<Task*> own;
    for (const std::size_t i : pieces) own.push_back(&tasks[i]);
    run_tasks(std::span<Task* const>(own), options);
    std::string results;
    for (const std::size_t i : pieces) put_result(results, i, *tasks[i].slot);
    return results;
  };
  std::vector<std::uint64_t> bytes;
  for (const Task& task : tasks) bytes.push_back(task.bytes);
  OPDUMP_TRY(const SharedAnswers shared,
             share_work(*options.share, digest_of(description(tasks, {&golden, &actual})), bytes, measure));
  incomplete.insert(incomplete.end(), shared.problems.begin(), shared.problems.end());

  std::vector<bool> is_done(tasks.size());
  for (const std::size_t rank : shared.workers)
    if (!take_results(tasks, shared.answers[rank], is_done))
      incomplete.push_back("process " + std::to_string(rank) + ": its answer is not whole");
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (is_done[i]) continue;
    tasks[i].slot->verdict = Verdict::unreadable;
    tasks[i].slot->reason = "process " + std::to_string(shared.owner[i]) + " gave no answer: it died";
  }
  return ok();
}

}  // namespace opdump::compare
