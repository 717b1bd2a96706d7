#include "dump/write/acl_tree.h"

#include <sys/stat.h>

#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "dump/file_name.h"
#include "dump/write/call_data.h"
#include "dump/write/device_memory.h"
#include "dump/write/step_directories.h"
#include "format/tables/mapping_csv.h"
#include "format/tensors/dump_names.h"
#include "math/layout/strided_copy.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxChunkBytes = 128 << 20;

// As CANN spells names, but for bytes that no name of a file and no line of a table may have.
std::string acl_name(std::string_view text) {
  std::string name = model::sanitise_name(text);
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
  return name.empty() ? "_" : name;
}

// The names of models, and the directories they lead to.
class ModelDirectories {
 public:
  explicit ModelDirectories(const AclTreeOptions& options)
      : exceptions_(options.exceptions),
        device_(options.exceptions ? fs::path("extra-info/data-dump") / std::to_string(options.device)
                                   : fs::path(options.time_directory) / std::to_string(options.device)) {}

  void name(std::int64_t graph_id, std::string_view name) {
    const std::lock_guard lock(mutex_);
    names_.insert_or_assign(graph_id, acl_name(name));
  }

  // Below the root.
  fs::path find(std::int64_t graph_id, std::int64_t step) const {
    if (exceptions_ || graph_id == model::kAnyGraph) return device_;
    const std::lock_guard lock(mutex_);
    auto name = names_.find(graph_id);
    if (name == names_.end()) name = names_.find(model::kAnyGraph);
    return device_ / (name == names_.end() ? "_" : name->second) / std::to_string(graph_id) /
           std::to_string(step);
  }

 private:
  const bool exceptions_;
  const fs::path device_;
  mutable std::mutex mutex_;  // guards the rest
  std::map<std::int64_t, std::string> names_;
};

std::string short_name(const fs::path& path) {
  return std::to_string(std::hash<std::string>()(path.string()));
}

// Gives a file to a sink, in parts that are not too large.
class SinkWriter {
 public:
  SinkWriter(const FileSink& sink, const fs::path& path, std::uint64_t total)
      : sink_(sink), path_(path), total_(total) {}

  Result<> write(std::span<const std::byte> bytes) {
    do {
      const auto part = bytes.first(std::min<std::uint64_t>(bytes.size(), kMaxChunkBytes));
      bytes = bytes.subspan(part.size());
      const auto offset = static_cast<std::int64_t>(written_);
      written_ += part.size();
      OPDUMP_CHECK_OK(sink_({path_, offset, part, written_ == total_}));
    } while (!bytes.empty());
    return ok();
  }

 private:
  const FileSink& sink_;
  const fs::path& path_;
  const std::uint64_t total_;
  std::uint64_t written_ = 0;
};

class AclTree final : public SchemeWriter {
 public:
  AclTree(AclTreeOptions options, std::shared_ptr<ModelDirectories> models,
          std::unique_ptr<StepDirectories> directories)
      : options_(std::move(options)), models_(std::move(models)), directories_(std::move(directories)) {}

  void name_graph(std::int64_t graph_id, std::string_view name) override { models_->name(graph_id, name); }
  bool lists_all_tensors() const override { return options_.statistics; }
  bool writes_calls() const override { return !options_.statistics; }

  Result<fs::path> write_tensor(const SlotAddress&, const model::TensorView&) override {
    return Error(Code::internal, "files of this directory scheme hold all tensors of an execution");
  }
  Result<> link_tensor(const SlotAddress&, model::DType, const model::Shape&, const fs::path&) override {
    return Error(Code::internal, "files of this directory scheme hold all tensors of an execution");
  }

  Result<fs::path> write_call(std::span<const Member> members) override {
    if (options_.device_formats.empty()) return write_stored(members, members);
    OPDUMP_TRY(const StoredMembers stored, store_in_formats(members, options_.device_formats));
    return write_stored(stored.members, members);
  }

  Result<> write_overflow(const SlotAddress& output) override {
    CallName name = call_name(output);
    name.type = kOpDebugType;
    name.name = kOpDebugName;
    auto written = write_text(output, format_call_name(name),
                              encode_overflow_file(output, options_.newer_overflow_record));
    if (!written) return Error(Code::io, written.error().message());
    return ok();
  }

  Result<> move_step(std::int64_t step, std::int64_t from, std::int64_t to) override {
    OPDUMP_CHECK_OK(flush());
    if (models_->find(from, step) == models_->find(to, step)) return ok();
    return directories_ ? directories_->move(step, from, to) : ok();
  }

  Result<> write_statistics(const SlotAddress& address, const StatisticRow& row) override {
    const bool is_other = table_.empty() || address.op != table_address_.op ||
                          address.timestamp_us != table_address_.timestamp_us;
    if (is_other) {
      OPDUMP_CHECK_OK(write_table());
      table_address_ = address;
      table_ = format::encode_acl_statistic_header(options_.columns);
    }
    append_row(address, row);
    return ok();
  }

  Result<> flush() override {
    OPDUMP_CHECK_OK(write_table());
    return directories_ ? directories_->check() : ok();
  }

 private:
  CallName call_name(const SlotAddress& address) const {
    const model::Operator& op = *address.op;
    return {acl_name(op.type), acl_name(op.name), op.task, op.stream, address.timestamp_us};
  }

  std::string file_name(const SlotAddress& address) const {
    if (!options_.exceptions) return format_call_name(call_name(address));
    return "exception_info." + std::to_string(address.op->task) + "." + std::to_string(address.op->stream) +
           "." + std::to_string(address.timestamp_us);
  }

  // `plain` are the tensors as the program has them.
  Result<fs::path> write_stored(std::span<const Member> stored, std::span<const Member> plain) {
    OPDUMP_TRY(format::DumpData data, describe_call(stored));
    for (const Member& member : plain) {
      auto& list = member.address.side == model::Side::input ? data.inputs : data.outputs;
      const auto dims = original_dims(member);
      list[member.address.index].original_shape.emplace(dims.begin(), dims.end());
    }
    return write_file(stored[0].address, file_name(stored[0].address), format::encode_dump_header(data),
                      stored);
  }

  Result<fs::path> write_text(const SlotAddress& address, std::string name, const std::string& text) {
    return write_file(address, std::move(name), text, {});
  }

  Result<fs::path> write_file(const SlotAddress& address, std::string name, const std::string& header,
                              std::span<const Member> members) {
    if (options_.sink) return give_file(address, std::move(name), header, members);
    return directories_->create(address, std::move(name),
                                [&](const Fd& fd, const fs::path& path) -> Result<> {
                                  ::fchmod(fd.get(), 0600);
                                  return write_container(fd, header, members, path);
                                });
  }

  // Gives the file to the sink instead.
  Result<fs::path> give_file(const SlotAddress& address, std::string name, const std::string& header,
                             std::span<const Member> members) {
    const fs::path directory = options_.root / models_->find(address.graph_id, address.step);
    const std::lock_guard lock(sink_mutex_);
    if (name.size() > kMaxFileName) OPDUMP_CHECK_OK(give_mapping(directory, name));
    const fs::path path = directory / name;
    std::uint64_t total = header.size();
    for (const Member& member : members) total += member.view.byte_count();
    SinkWriter writer(options_.sink, path, total);
    OPDUMP_CHECK_OK(writer.write(std::as_bytes(std::span(header))));
    for (const Member& member : members) {
      if (member.view.is_contiguous()) {
        OPDUMP_CHECK_OK(writer.write({member.view.data, member.view.byte_count()}));
        continue;
      }
      std::vector<std::byte> bytes(member.view.byte_count());
      math::copy_row_major(member.view, bytes);
      OPDUMP_CHECK_OK(writer.write(bytes));
    }
    return path;
  }

  // Makes `name` a short one and gives the line that says so.
  Result<> give_mapping(const fs::path& directory, std::string& name) {
    std::string line, shorter = short_name(directory / name);
    format::append_mapping_line(line, shorter, name);
    name = std::move(shorter);
    const fs::path table = directory / format::kMappingCsvName;
    return options_.sink({table, -1, std::as_bytes(std::span(line)), true});
  }

  void append_row(const SlotAddress& address, const StatisticRow& row) {
    format::AclStatisticRow line{.side = address.side,
                                 .index = address.index,
                                 .data_bytes = row.data_bytes,
                                 .data_type = format::dump_dtype_number(row.dtype),
                                 .format = std::string(format_of(address, row.shape)),
                                 .shape = row.shape,
                                 .values = std::nullopt};
    if (math::has_statistics(row.dtype)) {
      const math::Statistics& values = row.values;
      line.values = {.max = row.first_is_nan ? values.max : values.max_number,
                     .min = row.first_is_nan ? values.min : values.min_number,
                     .avg = values.avg,
                     .l2norm = values.l2norm,
                     .count = values.count,
                     .nan_count = values.nan_count,
                     .negative_inf_count = values.negative_inf_count,
                     .positive_inf_count = values.positive_inf_count};
    }
    format::append_acl_statistic_row(table_, options_.columns, line);
  }

  // The rows of an execution are complete when those of another one come.
  Result<> write_table() {
    if (table_.empty()) return ok();
    const std::string text = std::exchange(table_, {});
    auto written = write_text(table_address_, file_name(table_address_) + ".csv", text);
    if (!written) return Error(Code::io, written.error().message());
    return ok();
  }

  const AclTreeOptions options_;
  const std::shared_ptr<ModelDirectories> models_;
  const std::unique_ptr<StepDirectories> directories_;  // null: there is a sink
  std::mutex sink_mutex_;                               // one file at a time
  SlotAddress table_address_;                           // of the statistics that are gathered
  std::string table_;
};

}  // namespace

Result<std::unique_ptr<SchemeWriter>> open_acl_tree(AclTreeOptions options) {
  auto models = std::make_shared<ModelDirectories>(options);
  std::unique_ptr<StepDirectories> directories;
  if (!options.sink) {
    OPDUMP_TRY(directories, StepDirectories::open(options.root, options.rank,
                                                  [models](std::int64_t graph_id, std::int64_t step) {
                                                    return models->find(graph_id, step);
                                                  }));
    directories->set_short_name(short_name);
  }
  return std::unique_ptr<SchemeWriter>(
      std::make_unique<AclTree>(std::move(options), std::move(models), std::move(directories)));
}

}  // namespace opdump::dump
