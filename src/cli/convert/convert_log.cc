#include "cli/convert/convert_log.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/file/file_replacement.h"
#include "base/text/packing.h"
#include "cli/convert/convert_slots.h"
#include "dump/operator_log.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;
using dump::UndumpedSlot;

std::uint64_t key_of(std::int64_t graph_id, std::string_view name) {
  std::string key;
  Packer out(key);
  out.signed_number(graph_id);
  out.text(name);
  return std::hash<std::string>()(key);
}

std::uint64_t key_of(const model::Operator& op) { return key_of(op.graph_id, op.name); }

std::uint64_t key_of(const UndumpedSlot& slot) {
  std::string key;
  Packer out(key);
  out.signed_number(slot.graph_id);
  out.text(slot.operator_name);
  out.number(static_cast<std::uint64_t>(slot.side));
  out.number(slot.index);
  return std::hash<std::string>()(key);
}

// The log of a rank: that of the conversion, and between its lines those that an earlier one has left.
class LogMerger {
 public:
  LogMerger(const dump::Runs& runs, std::span<const std::uint32_t> chosen, const std::string& wanted,
            std::string_view old_log)
      : runs_(runs), chosen_(chosen), wanted_(wanted), old_(old_log) {}

  // True if there is an operator to write. Call it first.
  Result<bool> look() {
    bool is_any = false;
    OPDUMP_CHECK_OK(visit(
        [&](const dump::LoggedOperator& op, std::size_t) -> Result<> {
          is_any = true;
          std::uint64_t& state = states_[key_of(op)];
          state = kNew;
          return ok();
        },
        [&](const UndumpedSlot& slot) -> Result<> {
          std::uint64_t& state = states_[key_of(slot)];
          if (state == 0)
            state = kFirstStep + static_cast<std::uint64_t>(std::max<std::int64_t>(0, slot.step));
          return ok();
        }));
    if (is_any) OPDUMP_CHECK_OK(look_at_old());
    return is_any;
  }

  Result<> write(FileReplacement& file) {
    OPDUMP_CHECK_OK(copy_old(0, file));
    return visit(
        [&](const dump::LoggedOperator& op, std::size_t index) -> Result<> {
          std::uint64_t& state = states_[key_of(op)];
          const std::uint64_t before = std::exchange(state, state | kWritten);
          if ((before & kWritten) != 0) return ok();
          for (const dump::LoggedOperator& said : runs_.operators_of(index))
            OPDUMP_CHECK_OK(file.append(dump::format_log_line(said)));
          for (dump::LoggedForm call : runs_.calls_of(index)) {
            call.operator_name = op.name;
            call.graph_id = op.graph_id;
            OPDUMP_CHECK_OK(file.append(dump::format_log_line(call)));
          }
          for (dump::LoggedLayout layout : runs_.layouts_of(index)) {
            layout.operator_name = op.name;
            layout.graph_id = op.graph_id;
            OPDUMP_CHECK_OK(file.append(dump::format_log_line(layout)));
          }
          for (dump::LoggedWiring logged : runs_.wirings_of(index)) {
            logged.operator_name = op.name;
            logged.graph_id = op.graph_id;
            OPDUMP_CHECK_OK(file.append(dump::format_log_line(logged)));
          }
          return before == kNew ? ok() : copy_old(before, file);
        },
        [&](const UndumpedSlot& slot) -> Result<> {
          std::uint64_t& state = states_[key_of(slot)];
          if (state < kFirstStep || (state & kWritten) != 0) return ok();
          state |= kWritten;
          return file.append(dump::format_log_line(slot));
        });
  }

 private:
  // What is kept of an operator of the conversion: kNew, or where in the old log the line after its own
  // begins; of a slot: kOldStays, or kFirstStep and the step where it was first met. 0: the conversion knows
  // nothing.
  static constexpr std::uint64_t kNew = UINT64_MAX >> 1, kOldStays = 1, kFirstStep = 2;
  static constexpr std::uint64_t kWritten = std::uint64_t{1} << 63;

  // Calls them with each operator and each slot without data, as often as they ran.
  template <typename TakeOperator, typename TakeSlot>
  Result<> visit(const TakeOperator& take_operator, const TakeSlot& take_slot) const {
    for (const std::uint32_t i : chosen_) {
      const dump::OperatorRun run = runs_.without_slots(i);
      if (run.op == nullptr) continue;
      OPDUMP_CHECK_OK(take_operator(*run.op, i));
      for (const dump::Slot& slot : runs_.slots(i)) {
        if (slot.undumped_reason.empty() || !is_meant(slot, wanted_)) continue;
        OPDUMP_CHECK_OK(
            take_slot(UndumpedSlot{run.op->name, run.op->graph_id, run.step, slot.side, slot.index,
                                   slot.dtype, slot.shape.value_or(model::Shape()), slot.undumped_reason}));
      }
    }
    return ok();
  }

  // The line of the old log at `at`, which is then where the next one begins. What is not whole is none.
  std::optional<std::string_view> next_line(std::size_t& at) const {
    const std::size_t end = old_.find('\n', at);
    if (end == std::string_view::npos) return std::nullopt;
    const std::size_t begin = std::exchange(at, end + 1);
    return old_.substr(begin, end - begin);
  }

  Result<> look_at_old() {
    for (std::size_t at = 0; const auto line = next_line(at);) {
      const dump::LogLine said = dump::decode_log_line(*line);
      if (const auto* const op = std::get_if<dump::LoggedOperator>(&said)) {
        std::uint64_t& state = states_[key_of(*op)];
        if (state == kNew) state = at;
      } else if (const auto* const slot = std::get_if<UndumpedSlot>(&said)) {
        std::uint64_t& state = states_[key_of(*slot)];
        const auto step = static_cast<std::uint64_t>(std::max<std::int64_t>(0, slot->step));
        if (state >= kFirstStep + step) state = kOldStays;
      }
    }
    return ok();
  }

  // Copies the lines from `at` on that stay, up to the next operator that the conversion describes itself.
  Result<> copy_old(std::size_t at, FileReplacement& file) {
    while (const auto line = next_line(at)) {
      const dump::LogLine said = dump::decode_log_line(*line);
      bool stays = true;
      if (const auto* const op = std::get_if<dump::LoggedOperator>(&said)) {
        const std::uint64_t& state = states_[key_of(*op)];
        if ((state & ~kWritten) == at) return ok();
        stays = state == 0;
      } else if (const auto* const slot = std::get_if<UndumpedSlot>(&said)) {
        const std::uint64_t& state = states_[key_of(*slot)];
        stays = state <= kOldStays;
      } else if (const auto* const call = std::get_if<dump::LoggedForm>(&said)) {
        stays = !states_.contains(key_of(call->graph_id, call->operator_name));
      } else if (const auto* const layout = std::get_if<dump::LoggedLayout>(&said)) {
        stays = !states_.contains(key_of(layout->graph_id, layout->operator_name));
      } else if (const auto* const logged = std::get_if<dump::LoggedWiring>(&said)) {
        stays = !states_.contains(key_of(logged->graph_id, logged->operator_name));
      }
      if (stays) OPDUMP_CHECK_OK(file.append(std::string(*line) + "\n"));
    }
    return ok();
  }

  const dump::Runs& runs_;
  std::span<const std::uint32_t> chosen_;
  const std::string& wanted_;
  std::string_view old_;
  std::unordered_map<std::uint64_t, std::uint64_t> states_;  // by key_of
};

// What lies at `path` already; a link is replaced and not looked at.
Result<std::optional<MappedFile>> open_old(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(fs::symlink_status(path, failed))) return std::optional<MappedFile>();
  OPDUMP_TRY(MappedFile file, MappedFile::open(path.string()));
  return std::optional(std::move(file));
}

Result<> write_log(const dump::Runs& runs, std::span<const std::uint32_t> chosen, const std::string& wanted,
                   const fs::path& path) {
  OPDUMP_TRY(const auto old_file, open_old(path));
  const auto bytes = old_file ? old_file->bytes() : std::span<const std::byte>();
  LogMerger merger(runs, chosen, wanted, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  OPDUMP_TRY(const bool is_any, merger.look());
  if (!is_any) return ok();
  OPDUMP_TRY(FileReplacement file, FileReplacement::begin(path, 0600));
  OPDUMP_CHECK_OK(merger.write(file));
  return file.finish();
}

}  // namespace

Result<> write_operator_logs(const dump::Runs& runs, std::span<const std::uint32_t> chosen,
                             const std::string& wanted, const fs::path& output) {
  for (std::size_t first = 0, last = 0; first < chosen.size(); first = last) {
    const std::uint32_t rank = runs.section_of(chosen[first]).rank;
    while (last < chosen.size() && runs.section_of(chosen[last]).rank == rank) ++last;
    OPDUMP_CHECK_OK(write_log(runs, chosen.subspan(first, last - first), wanted,
                              output / ("rank_" + std::to_string(rank)) / dump::kOperatorLogName));
  }
  return ok();
}

}  // namespace opdump::cli
