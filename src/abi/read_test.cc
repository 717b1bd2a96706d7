#include "opdump/opdump_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "dump/temp_directory_test.h"
#include "format/tensors/npy.h"
#include "model/tensor_view.h"

namespace opdump {
namespace {

using testing::HasSubstr;
using testing::StrEq;

class Read : public testing::Test {
 protected:
  // Two executions, relu and add; `last` is what add wrote.
  std::string make_dump(const std::string& name, float last) const {
    const auto folder = directory_.path() / name;
    std::filesystem::create_directories(folder);
    const float in[] = {-1, 2, 3}, out[] = {0, 2, last};
    const auto write = [&](const char* file, const float* data) {
      const auto view = model::TensorView::row_major(model::DType::float32, {3}, data);
      std::ofstream to(folder / file, std::ios::binary);
      to << *format::encode_npy_header(view.dtype, view.shape);
      to.write(reinterpret_cast<const char*>(data), 12);
    };
    write("relu.relu1.0.0.1700000000000001.input.0.DefaultFormat.npy", in);
    write("relu.relu1.0.0.1700000000000002.output.0.DefaultFormat.npy", in);
    write("add.add1.0.0.1700000000000003.input.0.DefaultFormat.npy", in);
    write("add.add1.0.0.1700000000000004.output.0.DefaultFormat.npy", out);
    return folder;
  }
  static opdump_dump* open(const std::string& path) {
    opdump_dump* dump = nullptr;
    EXPECT_EQ(opdump_dump_open(path.c_str(), &dump), OPDUMP_OK) << opdump_read_error();
    return dump;
  }
  dump::TempDirectory directory_;
};

TEST_F(Read, OperatorsSlotsAndElements) {
  opdump_dump* dump = open(make_dump("a", 5));
  ASSERT_EQ(opdump_dump_operator_count(dump), 2u);
  opdump_operator op{};
  op.size = sizeof op;
  ASSERT_EQ(opdump_dump_operator(dump, 1, &op), OPDUMP_OK);
  EXPECT_THAT(op.name, StrEq("add1"));
  EXPECT_THAT(op.type, StrEq("add"));
  EXPECT_EQ(op.phase, nullptr);
  ASSERT_EQ(op.slot_count, 2u);
  opdump_slot slot{};
  slot.size = sizeof slot;
  ASSERT_EQ(opdump_dump_slot(dump, 1, 1, &slot), OPDUMP_OK);
  EXPECT_THAT(slot.name, StrEq("output.0"));
  EXPECT_TRUE(slot.is_output);
  opdump_elements* elements = nullptr;
  opdump_tensor tensor{};
  tensor.size = sizeof tensor;
  ASSERT_EQ(opdump_elements_read(dump, 1, 1, &elements, &tensor), OPDUMP_OK) << opdump_read_error();
  opdump_dump_close(dump);  // elements stay
  EXPECT_EQ(tensor.dtype, OPDUMP_FLOAT32);
  ASSERT_EQ(tensor.rank, 1u);
  EXPECT_EQ(tensor.shape[0], 3);
  EXPECT_EQ(static_cast<const float*>(tensor.data)[2], 5);
  opdump_elements_free(elements);
}

TEST_F(Read, WrongArgumentsAreErrors) {
  opdump_dump* dump = nullptr;
  EXPECT_EQ(opdump_dump_open("/no/such/dump", &dump), OPDUMP_ERROR_NOT_FOUND);
  EXPECT_EQ(dump, nullptr);
  EXPECT_THAT(opdump_read_error(), HasSubstr("/no/such/dump"));
  EXPECT_EQ(opdump_dump_open(nullptr, &dump), OPDUMP_ERROR_ARGUMENT);
  dump = open(make_dump("a", 5));
  opdump_operator op{};
  EXPECT_EQ(opdump_dump_operator(dump, 0, &op), OPDUMP_ERROR_ARGUMENT) << "no size";
  op.size = sizeof op;
  EXPECT_EQ(opdump_dump_operator(dump, 2, &op), OPDUMP_ERROR_ARGUMENT);
  opdump_slot slot{};
  slot.size = sizeof slot;
  EXPECT_EQ(opdump_dump_slot(dump, 0, 2, &slot), OPDUMP_ERROR_ARGUMENT);
  EXPECT_EQ(opdump_dump_problem(dump, 0), nullptr);
  EXPECT_EQ(opdump_compare(dump, nullptr, nullptr, nullptr), OPDUMP_ERROR_ARGUMENT);
  opdump_dump_close(dump);
}

TEST_F(Read, ATornFileIsCorrupt) {
  const std::string path = make_dump("a", 5);
  opdump_dump* dump = open(path);
  std::filesystem::resize_file(path + "/add.add1.0.0.1700000000000004.output.0.DefaultFormat.npy", 20);
  opdump_elements* elements = nullptr;
  opdump_tensor tensor{};
  tensor.size = sizeof tensor;
  EXPECT_EQ(opdump_elements_read(dump, 1, 1, &elements, &tensor), OPDUMP_ERROR_CORRUPT);
  EXPECT_EQ(elements, nullptr);
  opdump_dump_close(dump);
}

TEST_F(Read, AComparisonNamesTheOperator) {
  opdump_dump* golden = open(make_dump("a", 5));
  opdump_dump* actual = open(make_dump("b", 6));
  opdump_comparison* comparison = nullptr;
  ASSERT_EQ(opdump_compare(golden, actual, nullptr, &comparison), OPDUMP_OK) << opdump_read_error();
  EXPECT_EQ(opdump_comparison_outcome(comparison), OPDUMP_DIFFERS);
  EXPECT_THAT(opdump_comparison_conclusion(comparison), HasSubstr("add1"));
  ASSERT_EQ(opdump_comparison_finding_count(comparison), 2u);
  ASSERT_EQ(opdump_comparison_first_bad(comparison), 1u);
  opdump_finding finding{};
  finding.size = sizeof finding;
  ASSERT_EQ(opdump_comparison_finding(comparison, 1, &finding), OPDUMP_OK);
  EXPECT_THAT(finding.verdict, StrEq("own_error"));
  EXPECT_EQ(finding.golden, 1u);
  EXPECT_EQ(finding.actual, 1u);
  EXPECT_EQ(opdump_comparison_finding(comparison, 2, &finding), OPDUMP_ERROR_ARGUMENT);
  opdump_comparison_close(comparison);

  const double loose = 1;
  opdump_compare_options options{};
  options.size = sizeof options;
  options.rtol = &loose;
  ASSERT_EQ(opdump_compare(golden, actual, &options, &comparison), OPDUMP_OK);
  EXPECT_EQ(opdump_comparison_outcome(comparison), OPDUMP_SAME);
  EXPECT_EQ(opdump_comparison_first_bad(comparison), OPDUMP_NO_OPERATOR);
  opdump_comparison_close(comparison);
  opdump_dump_close(golden);
  opdump_dump_close(actual);
}

}  // namespace
}  // namespace opdump
