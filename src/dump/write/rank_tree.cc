#include "dump/write/rank_tree.h"

#include <system_error>
#include <utility>

#include "dump/file_name.h"
#include "dump/write/arguments_file.h"
#include "dump/write/npy_file.h"
#include "dump/write/statistic_tables.h"

namespace opdump::dump {
namespace {

class RankTree final : public SchemeWriter {
 public:
  RankTree(std::unique_ptr<StepDirectories> directories, StatisticTables tables, bool class_name_dtypes)
      : directories_(std::move(directories)),
        tables_(std::move(tables)),
        class_name_dtypes_(class_name_dtypes) {}

  Result<std::filesystem::path> write_tensor(const SlotAddress& address,
                                             const model::TensorView& view) override {
    OPDUMP_TRY(const std::string header, npy_header_for(view));
    return directories_->create(
        address, file_name(address, view.dtype),
        [&](const Fd& fd, const std::filesystem::path& path) { return write_npy(fd, header, view, path); });
  }

  Result<> link_tensor(const SlotAddress& address, model::DType dtype, const model::Shape&,
                       const std::filesystem::path& file) override {
    return directories_->link(address, file_name(address, dtype), file);
  }

  Result<> write_arguments(const SlotAddress& address, std::span<const model::Argument> arguments) override {
    const std::string name = arguments_file_name(*address.op);
    const std::string text = encode_arguments(arguments);
    auto written = directories_->create(address, name, [&](const Fd& fd, const std::filesystem::path& path) {
      return write_all(fd, std::as_bytes(std::span(text)), path);
    });
    if (!written) return Error(Code::io, written.error().message());
    return ok();
  }

  Result<> write_statistics(const SlotAddress& address, const StatisticRow& row) override {
    const model::Operator& op = *address.op;
    if (last_.row_name.name.empty() || last_.type != op.type || last_.name != op.name)
      last_ = {op.type, op.name, {file_type(op), file_op_name(op)}};
    return tables_.append(*directories_, address, last_.row_name, row);
  }

  Result<> move_step(std::int64_t step, std::int64_t from, std::int64_t to) override {
    OPDUMP_CHECK_OK(tables_.close(from, step));
    OPDUMP_CHECK_OK(tables_.close(to, step));
    return directories_->move(step, from, to);
  }

  Result<> flush() override {
    OPDUMP_CHECK_OK(directories_->check());
    return tables_.flush();
  }

 private:
  std::string file_name(const SlotAddress& address, model::DType dtype) const {
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

  // An operator, and what its rows are called: they come one after the other.
  struct Named {
    std::string type, name;
    StatisticTables::RowName row_name;
  };

  const std::unique_ptr<StepDirectories> directories_;
  StatisticTables tables_;
  const bool class_name_dtypes_;
  Named last_;
};

std::filesystem::path step_path(const std::filesystem::path& net, std::int64_t graph_id, std::int64_t step) {
  return net / std::to_string(graph_id) / (step == kConstantsStep ? "constants" : std::to_string(step));
}

}  // namespace

Result<std::unique_ptr<SchemeWriter>> open_rank_tree(RankTreeOptions options) {
  OPDUMP_CHECK_OK(check_net_name(options.net_name));
  OPDUMP_TRY(StatisticTables tables, StatisticTables::make(std::move(options.statistic_columns)));
  const std::filesystem::path net = rank_directory("", options.rank) / options.net_name;
  OPDUMP_TRY(auto directories, StepDirectories::open(options.root, options.rank,
                                                     [net](std::int64_t graph_id, std::int64_t step) {
                                                       return step_path(net, graph_id, step);
                                                     }));
  return std::unique_ptr<SchemeWriter>(
      std::make_unique<RankTree>(std::move(directories), std::move(tables), options.class_name_dtypes));
}

Result<> remove_step(const std::filesystem::path& rank_directory, const std::string& net_name,
                     std::int64_t graph_id, std::int64_t step) {
  const std::filesystem::path path = step_path(rank_directory / net_name, graph_id, step);
  std::error_code failure;
  std::filesystem::remove_all(path, failure);
  if (failure) return Error(Code::io, path.string() + ": cannot be removed: " + failure.message());
  std::filesystem::remove(path.parent_path(), failure);  // fails while the graph has other steps
  return ok();
}

}  // namespace opdump::dump
