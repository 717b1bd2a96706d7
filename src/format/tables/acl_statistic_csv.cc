#include "format/tables/acl_statistic_csv.h"

#include "base/text/text.h"
#include "format/tensors/dump_names.h"

namespace opdump::format {
namespace {

// In the order in which both kinds of files have them.
struct AclColumn {
  std::string_view header;
  bool AclStatisticColumns::*chosen;
  double AclStatistics::*number;          // this one...
  std::uint64_t AclStatistics::*counter;  // ...or this one
};
constexpr AclColumn kColumns[] = {
    {"Max Value", &AclStatisticColumns::max, &AclStatistics::max, nullptr},
    {"Min Value", &AclStatisticColumns::min, &AclStatistics::min, nullptr},
    {"Avg Value", &AclStatisticColumns::avg, &AclStatistics::avg, nullptr},
    {"Nan Count", &AclStatisticColumns::nan, nullptr, &AclStatistics::nan_count},
    {"Negative Inf Count", &AclStatisticColumns::negative_inf, nullptr, &AclStatistics::negative_inf_count},
    {"Positive Inf Count", &AclStatisticColumns::positive_inf, nullptr, &AclStatistics::positive_inf_count},
    {"l2norm", &AclStatisticColumns::l2norm, &AclStatistics::l2norm, nullptr},
};
constexpr std::size_t kCountPlace = 3;  // of Count among the usual columns

bool is_choice(const AclStatisticColumns& columns) { return columns != AclStatisticColumns(); }

void append_shape(std::string& out, const model::Shape& shape) {
  if (shape.rank() == 0) out += '-';
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) out += 'x';
    out += std::to_string(shape[axis]);
  }
}

// Calls visit(nullptr) for the count and visit(&column) for the others, in the order of the file.
template <typename F>
void for_each_column(const AclStatisticColumns& columns, const F& visit) {
  const std::size_t count_place = is_choice(columns) ? 0 : kCountPlace;
  for (std::size_t i = 0; i < std::size(kColumns); ++i) {
    if (i == count_place) visit(static_cast<const AclColumn*>(nullptr));
    if (columns.*kColumns[i].chosen) visit(&kColumns[i]);
  }
}

}  // namespace

std::string encode_acl_statistic_header(const AclStatisticColumns& columns) {
  std::string text = "Input/Output,Index,Data Size,Data Type,Format,Shape";
  for_each_column(
      columns, [&](const AclColumn* column) { text.append(",").append(column ? column->header : "Count"); });
  return text + "\n";
}

void append_acl_statistic_row(std::string& out, const AclStatisticColumns& columns,
                              const AclStatisticRow& row) {
  out += row.side == model::Side::input ? "Input," : "Output,";
  out += std::to_string(row.index) + "," + std::to_string(row.data_bytes) + ",";
  const std::string_view dtype = row.data_type == 0 ? "" : dump_dtype_name(row.data_type);
  if (dtype.empty())
    out += is_choice(columns) ? "UNKNOW" : "-";
  else
    out.append("DT_").append(dtype);
  out.append(",").append(row.format.empty() ? "-" : row.format).append(",");
  append_shape(out, row.shape);
  for_each_column(columns, [&](const AclColumn* column) {
    out += ',';
    if (!row.values)
      out += is_choice(columns) ? "NA" : "";
    else if (column && column->number)
      append_g(out, (*row.values).*column->number);
    else
      out += std::to_string((*row.values).*(column ? column->counter : &AclStatistics::count));
  });
  out += '\n';
}

}  // namespace opdump::format
