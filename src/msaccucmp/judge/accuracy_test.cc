#include "msaccucmp/judge/accuracy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "dump/read/dump_set.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;
using model::DType;
using model::TensorView;

const fs::path kPairs = fs::path(OPDUMP_SOURCE_DIR) / "../shared/testdata/cann/metric_pairs";

std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[i++];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      fields.emplace_back();
    else if (line[i] != '\r')
      fields.back() += line[i];
  }
  return fields;
}

// A list of strings as Python prints it; "" for an empty one.
std::string python_list(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    const char quote = item.find('\'') == std::string::npos ? '\'' : '"';
    text += (text.empty() ? "[" : ", ") + (quote + item + quote);
  }
  return text.empty() ? text : text + "]";
}

TEST(Accuracy, PrintsWhatTheOriginalPrints) {
  std::ifstream file(kPairs / "expected.csv");
  if (!file) GTEST_SKIP() << "no reference data";
  std::string line;
  std::getline(file, line);
  int compared = 0;
  while (std::getline(file, line)) {
    const std::vector<std::string> expected = csv_fields(line);
    ASSERT_EQ(expected.size(), 14u) << line;
    if (expected[2] != "0") continue;  // shapes that differ: a matter of who compares files
    SCOPED_TRACE(expected[0]);
    auto actual = dump::StoredTensor::read(kPairs / expected[0] / "a.npy");
    auto golden = dump::StoredTensor::read(kPairs / expected[0] / "b.npy");
    ASSERT_TRUE(actual) << actual.error().message();
    ASSERT_TRUE(golden) << golden.error().message();
    AccuracyOptions options;
    options.actual_name = expected[0] + "/a.npy";
    options.golden_name = expected[0] + "/b.npy";
    auto row = measure_accuracy(actual->view(), golden->view(), options);
    ASSERT_TRUE(row) << row.error().message();
    for (std::size_t i = 0; i < kAccuracyCount; ++i)
      EXPECT_EQ(row->values[i], expected[3 + i]) << kAccuracyNames[i];
    EXPECT_EQ(python_list(row->messages), expected[13]);
    ++compared;
  }
  EXPECT_EQ(compared, 60);
}

TEST(Accuracy, OnlyWhatIsWanted) {
  const float a[] = {1, 2, 3}, g[] = {0, 0, 0};
  AccuracyOptions options;
  options.wanted.reset();
  options.wanted.set(static_cast<std::size_t>(Accuracy::mean_absolute));
  const auto row = measure_accuracy(TensorView::row_major(DType::float32, {3}, a),
                                    TensorView::row_major(DType::float32, {3}, g), options);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->values[6], "2.000000");
  EXPECT_EQ(row->values[0], "");
  EXPECT_TRUE(row->messages.empty());
}

TEST(Accuracy, ZeroOnTheLeft) {
  const float a[] = {0, 0}, g[] = {1, 2};
  const auto row = measure_accuracy(TensorView::row_major(DType::float32, {2}, a),
                                    TensorView::row_major(DType::float32, {2}, g), {});
  ASSERT_TRUE(row);
  EXPECT_EQ(row->values[0], "NaN");
  EXPECT_EQ(row->messages.at(0), "Cannot compare by Cosine Similarity. All the data is zero in my.");
}

TEST(Accuracy, RefusesOtherCounts) {
  const float a[] = {0, 0};
  const auto row = measure_accuracy(TensorView::row_major(DType::float32, {2}, a),
                                    TensorView::row_major(DType::float32, {1}, a), {});
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code(), Code::unsupported);
}

}  // namespace
}  // namespace opdump::msaccucmp
