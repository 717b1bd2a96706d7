#include "dump/rank_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "dump/arguments_file.h"
#include "dump/file_name.h"
#include "dump/npy_file.h"
#include "dump/tree_file.h"
#include "format/mapping_csv.h"
#include "format/statistic_csv.h"

namespace opdump::dump {
namespace {

constexpr std::size_t kRowBufferBytes = 64 << 10;
constexpr std::size_t kMaxOpen = 32;  // directories, and statistic files; the oldest steps are closed first

// {step, graph}: the order in which things grow old.
using StepKey = std::pair<std::int64_t, std::int64_t>;

using AppendValue = void (*)(std::string& out, const StatisticRow& row);

struct Column {
  std::string_view header;
  AppendValue append;
};

template <auto Field>
void append_number(std::string& out, const StatisticRow& row) {
  const auto value = row.values.*Field;
  if constexpr (std::is_floating_point_v<decltype(value)>)
    append_g(out, value);
  else
    out += std::to_string(value);
}

constexpr Column kColumns[] = {
    {"Max Value", append_number<&math::Statistics::max>},
    {"Min Value", append_number<&math::Statistics::min>},
    {"Avg Value", append_number<&math::Statistics::avg>},
    {"Count", append_number<&math::Statistics::count>},
    {"Negative Zero Count", append_number<&math::Statistics::negative_count>},
    {"Positive Zero Count", append_number<&math::Statistics::positive_count>},
    {"NaN Count", append_number<&math::Statistics::nan_count>},
    {"Negative Inf Count", append_number<&math::Statistics::negative_inf_count>},
    {"Positive Inf Count", append_number<&math::Statistics::positive_inf_count>},
    {"Zero Count", append_number<&math::Statistics::zero_count>},
    {"MD5", [](std::string& out, const StatisticRow& row) { out += row.md5; }},
    {"L2Norm Value", append_number<&math::Statistics::l2norm>},
};

// The statistic.csv of one graph and step, with the rows that the system does not have yet.
class StatisticFile {
 public:
  StatisticFile(Fd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  StatisticFile(StatisticFile&&) = default;
  ~StatisticFile() {
    if (!fd_) return;
    (void)flush();
    ::fchmod(fd_.get(), 0400);
  }

  Result<> append(const format::StatisticCsvRow& row) {
    format::append_statistic_row(rows_, row);
    return rows_.size() < kRowBufferBytes ? ok() : flush();
  }

  // One call for whole lines: other processes may append to the same file.
  Result<> flush() {
    Result<> written = write_all(fd_, std::as_bytes(std::span(rows_)), path_);
    rows_.clear();
    if (!written) return Error(Code::io, written.error().message());
    return written;
  }

 private:
  Fd fd_;
  std::filesystem::path path_;
  std::string rows_;
};

class RankTree final : public Layout {
 public:
  RankTree(RankTreeOptions options, OpenDirectory rank, std::vector<AppendValue> columns)
      : rank_(std::move(rank)),
        net_directory_(rank_directory(options.root, options.rank) / options.net_name),
        class_name_dtypes_(options.class_name_dtypes),
        headers_(std::move(options.statistic_columns)),
        columns_(std::move(columns)) {
    row_.values.resize(columns_.size());
    row_.task_id = "0";
  }

  Result<std::filesystem::path> write_tensor(const SlotAddress& address,
                                             const model::TensorView& view) override;
  Result<> link_tensor(const SlotAddress& address, model::DType dtype,
                       const std::filesystem::path& file) override;
  Result<> write_arguments(const SlotAddress& address, std::span<const model::Argument> arguments) override;
  Result<> write_statistics(const SlotAddress& address, const StatisticRow& row) override;
  Result<> move_step(std::int64_t step, std::int64_t from, std::int64_t to) override;
  Result<> flush() override;

 private:
  std::filesystem::path step_path(std::int64_t graph_id, std::int64_t step) const {
    return net_directory_ / std::to_string(graph_id) /
           (step == kConstantsStep ? "constants" : std::to_string(step));
  }
  Result<std::shared_ptr<const OpenDirectory>> step_directory(const SlotAddress& address);
  std::string file_name(const SlotAddress& address, model::DType dtype) const;
  template <typename F>
  Result<std::string> claim_short_name(const OpenDirectory& directory, const std::string& long_name,
                                       std::uint64_t timestamp_us, const F& claim);
  Result<> append_mapping(const OpenDirectory& directory, const std::string& name,
                          const std::string& long_name);
  Result<StatisticFile*> statistic_file(const SlotAddress& address);

  const OpenDirectory rank_;
  const std::filesystem::path net_directory_;
  const bool class_name_dtypes_;
  const std::vector<std::string> headers_;
  const std::vector<AppendValue> columns_;

  std::mutex mutex_;  // guards directories_ and every mapping.csv
  std::map<StepKey, std::shared_ptr<const OpenDirectory>> directories_;

  // Used by one caller at a time.
  std::map<StepKey, StatisticFile> statistic_files_;
  format::StatisticCsvRow row_;  // kept for its memory
};

Result<std::shared_ptr<const OpenDirectory>> RankTree::step_directory(const SlotAddress& address) {
  const StepKey key{address.step, address.graph_id};
  const std::lock_guard lock(mutex_);
  if (const auto found = directories_.find(key); found != directories_.end()) return found->second;
  OPDUMP_CHECK_OK(check_in_place(rank_));  // a tree that went away must not be begun anew
  OPDUMP_TRY(OpenDirectory opened, open_directory(step_path(address.graph_id, address.step)));
  auto directory = std::make_shared<const OpenDirectory>(std::move(opened));
  if (directories_.size() == kMaxOpen) directories_.erase(directories_.begin());
  directories_[key] = directory;
  return directory;
}

std::string RankTree::file_name(const SlotAddress& address, model::DType dtype) const {
  const model::DTypeInfo& info = model::dtype_info(dtype);
  return format_file_name({.type = file_type(*address.op),
                           .name = file_op_name(*address.op),
                           .stream = address.op->stream,
                           .timestamp_us = address.timestamp_us,
                           .side = address.side,
                           .index = address.index,
                           .format = std::string(address.format),
                           .dtype = std::string(class_name_dtypes_ ? info.class_name : info.name)});
}

// A decimal name that was free, with its line in mapping.csv. claim(name) makes the file and says whether the
// name was free. The line comes before the data: a file without a line would be lost, a line without a file
// does no harm.
template <typename F>
Result<std::string> RankTree::claim_short_name(const OpenDirectory& directory, const std::string& long_name,
                                               std::uint64_t timestamp_us, const F& claim) {
  for (std::uint64_t number = timestamp_us;; ++number) {
    std::string name = std::to_string(number % (std::uint64_t{1} << 31)) + ".npy";
    OPDUMP_TRY(const bool free, claim(name));
    if (!free) continue;
    if (auto mapped = append_mapping(directory, name, long_name); !mapped) {
      remove_file(directory, name);
      return mapped.take_error();
    }
    return name;
  }
}

Result<> RankTree::append_mapping(const OpenDirectory& directory, const std::string& name,
                                  const std::string& long_name) {
  std::string line;
  format::append_mapping_line(line, name, long_name);
  const std::filesystem::path path = directory.path / format::kMappingCsvName;
  const std::lock_guard lock(mutex_);
  OPDUMP_TRY(const Fd fd, open_append(path, ""));
  auto written = write_all(fd, std::as_bytes(std::span(line)), path);
  if (!written) return Error(Code::io, written.error().message());
  return written;
}

Result<std::filesystem::path> RankTree::write_tensor(const SlotAddress& address,
                                                     const model::TensorView& view) {
  OPDUMP_TRY(const std::string header, npy_header_for(view));
  OPDUMP_TRY(const auto directory, step_directory(address));
  std::string name = file_name(address, view.dtype);
  Fd fd;
  if (name.size() <= kMaxFileName) {
    OPDUMP_TRY(fd, create_replacing(*directory, name));
  } else {
    OPDUMP_TRY(name, claim_short_name(*directory, name, address.timestamp_us,
                                      [&](const std::string& short_name) -> Result<bool> {
                                        OPDUMP_TRY(auto created, create_new(*directory, short_name));
                                        if (created) fd = std::move(*created);
                                        return created.has_value();
                                      }));
  }
  std::filesystem::path path = directory->path / name;
  if (auto written = write_npy(fd, header, view, path); !written) {
    remove_file(*directory, name);  // on a full disk a part of a tensor helps nobody
    return written.take_error();
  }
  return path;
}

Result<> RankTree::link_tensor(const SlotAddress& address, model::DType dtype,
                               const std::filesystem::path& file) {
  OPDUMP_TRY(const auto directory, step_directory(address));
  const std::string name = file_name(address, dtype);
  if (name.size() <= kMaxFileName) return link_replacing(*directory, name, file);
  auto claimed = claim_short_name(*directory, name, address.timestamp_us, [&](const std::string& short_name) {
    return link_new(*directory, short_name, file);
  });
  if (!claimed) return claimed.take_error();
  return ok();
}

Result<StatisticFile*> RankTree::statistic_file(const SlotAddress& address) {
  const StepKey key{address.step, address.graph_id};
  if (const auto found = statistic_files_.find(key); found != statistic_files_.end()) return &found->second;
  if (statistic_files_.size() == kMaxOpen) {
    const auto oldest = statistic_files_.begin();
    OPDUMP_CHECK_OK(oldest->second.flush());
    statistic_files_.erase(oldest);
  }
  OPDUMP_TRY(const auto directory, step_directory(address));
  std::filesystem::path path = directory->path / format::kStatisticCsvName;
  OPDUMP_TRY(Fd fd, open_append(path, format::encode_statistic_header(headers_)));
  return &statistic_files_.emplace(key, StatisticFile(std::move(fd), std::move(path))).first->second;
}

Result<> RankTree::write_statistics(const SlotAddress& address, const StatisticRow& row) {
  OPDUMP_TRY(StatisticFile* const file, statistic_file(address));
  row_.op_type = file_type(*address.op);
  row_.op_name = file_op_name(*address.op);
  row_.stream_id = std::to_string(address.op->stream);
  row_.timestamp = std::to_string(address.timestamp_us);
  row_.io = model::kSideNames[static_cast<int>(address.side)];
  row_.slot = std::to_string(address.index);
  row_.data_bytes = std::to_string(row.data_bytes);
  row_.dtype = model::dtype_info(row.dtype).name;
  row_.shape = model::format_shape(row.shape);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    row_.values[i].clear();
    columns_[i](row_.values[i], row);
  }
  return file->append(row_);
}

Result<> RankTree::write_arguments(const SlotAddress& address, std::span<const model::Argument> arguments) {
  OPDUMP_TRY(const auto directory, step_directory(address));
  const std::string name = arguments_file_name(*address.op);
  if (name.size() > kMaxFileName) return ok();  // mapping.csv is for tensors
  OPDUMP_TRY(const Fd fd, create_replacing(*directory, name));
  const std::string text = encode_arguments(arguments);
  auto written = write_all(fd, std::as_bytes(std::span(text)), directory->path / name);
  if (!written) return Error(Code::io, written.error().message());
  return written;
}

Result<> RankTree::move_step(std::int64_t step, std::int64_t from, std::int64_t to) {
  for (const std::int64_t graph_id : {from, to}) {
    const auto statistics = statistic_files_.find({step, graph_id});
    if (statistics == statistic_files_.end()) continue;
    OPDUMP_CHECK_OK(statistics->second.flush());
    statistic_files_.erase(statistics);
  }
  const std::lock_guard lock(mutex_);
  directories_.erase({step, from});
  directories_.erase({step, to});
  OPDUMP_CHECK_OK(move_directory(step_path(from, step), step_path(to, step)));
  std::error_code not_empty;  // other steps are executions of the graph
  std::filesystem::remove(step_path(from, step).parent_path(), not_empty);
  return ok();
}

Result<> RankTree::flush() {
  OPDUMP_CHECK_OK(check_in_place(rank_));
  for (auto& [key, file] : statistic_files_) OPDUMP_CHECK_OK(file.flush());
  return ok();
}

}  // namespace

std::filesystem::path rank_directory(const std::filesystem::path& root, std::uint32_t rank) {
  return root / ("rank_" + std::to_string(rank));
}

Result<std::unique_ptr<Layout>> open_rank_tree(RankTreeOptions options) {
  if (options.net_name.empty() || options.net_name.find('/') != std::string::npos)
    return Error(Code::usage, "net_name is \"" + options.net_name + "\"; expected the name of one directory");
  std::vector<AppendValue> columns;
  for (const std::string& header : options.statistic_columns) {
    const auto column = std::ranges::find(kColumns, header, &Column::header);
    if (column == std::end(kColumns))
      return Error(Code::usage,
                   "statistic column \"" + header + "\"; expected a header as statistic.csv has it");
    columns.push_back(column->append);
  }
  OPDUMP_TRY(OpenDirectory rank, open_directory(rank_directory(options.root, options.rank)));
  return std::unique_ptr<Layout>(
      std::make_unique<RankTree>(std::move(options), std::move(rank), std::move(columns)));
}

}  // namespace opdump::dump
