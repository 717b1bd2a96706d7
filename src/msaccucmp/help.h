// What the verbs of msaccucmp.py say about themselves, which scripts and people know by heart.
#pragma once

#include <string_view>

namespace opdump::msaccucmp {

inline constexpr std::string_view kMsaccucmpUsage =
    "usage: msaccucmp.py [-h] {compare,convert,overflow,file_compare} ...\n";
inline constexpr std::string_view kMsaccucmpHelp = R"(
[Powered by MindStudio]

positional arguments:
  {compare,convert,overflow,file_compare}
                        commands
    compare             Compare network or single op.
    convert             Convert my dump data to numpy data or bin data.
    overflow            Analyze the information of the overflow operators.
    file_compare        Compare two single .npy file.

options:
  -h, --help            show this help message and exit
)";

inline constexpr std::string_view kConvertUsage =
    R"(usage: msaccucmp.py convert [-h] -d DUMP_PATH [-f FORMAT] [-s SHAPE]
                            [-o OUTPUT | -i INPUT] [-c CUSTOM_SCRIPT_PATH]
                            [-out OUTPUT_PATH] [-v {1,2}]
                            [-t {npy,bin,msnpy,pt}]
)";
inline constexpr std::string_view kConvertHelp = R"~(
[Powered by MindStudio]

options:
  -h, --help            show this help message and exit
  -d DUMP_PATH, --dump_file DUMP_PATH
                        <Required> the dump file path, supports one file, file
                        list(splits by ",") and directory
  -f FORMAT, --format FORMAT
                        <Optional> the format to transfer
  -s SHAPE, --shape SHAPE
                        <Optional> the shape for format transfer, currently
                        only used for FRACTAL_NZ conversion, shape format is
                        ([0-9]+,)+[0-9]+, such as 1,3,224,224
  -o OUTPUT, --output_tensor OUTPUT
                        <Optional> the index for output, takes effect only
                        when the "-f" exists
  -i INPUT, --input_tensor INPUT
                        <Optional> the index for input, takes effect only when
                        the "-f" exists
  -c CUSTOM_SCRIPT_PATH, --custom_script_path CUSTOM_SCRIPT_PATH
                        <Optional> the user-defined script path, including
                        format conversion
  -out OUTPUT_PATH, --output OUTPUT_PATH
                        <Optional> the output path
  -v {1,2}, --version {1,2}
                        <Optional> the version of the dump file, 1 means the
                        protobuf dump file, 2 means the binary dump file, the
                        default value is 2
  -t {npy,bin,msnpy,pt}, --type {npy,bin,msnpy,pt}
                        <Optional> the type of the output file, npy means the
                        output is saved as numpy format, bin means the output
                        is saved as binary format, msnpy means the output is
                        saved as numpy format for MindSpore, the default value
                        is npy
)~";

inline constexpr std::string_view kOverflowUsage =
    R"(usage: msaccucmp.py overflow [-h] -d DUMP_PATH -out OUTPUT_PATH
                             [-n {1,2,3,4,5}]
)";
inline constexpr std::string_view kOverflowHelp = R"~(
[Powered by MindStudio]

options:
  -h, --help            show this help message and exit
  -d DUMP_PATH, --dump_path DUMP_PATH
                        <Required> the dump file path
  -out OUTPUT_PATH, --output OUTPUT_PATH
                        <Optional> the output path
  -n {1,2,3,4,5}, --top_n {1,2,3,4,5}
                        <Optional> the number of overflow ops, first n will be
                        analyzed. the default value is 1
)~";

inline constexpr std::string_view kFileCompareUsage =
    R"(usage: msaccucmp.py file_compare [-h] -m MY_DUMP_PATH -g GOLDEN_DUMP_PATH -out
                                 OUTPUT_PATH
)";
inline constexpr std::string_view kFileCompareHelp = R"~(
[Powered by MindStudio]

options:
  -h, --help            show this help message and exit
  -m MY_DUMP_PATH, --my_dump_path MY_DUMP_PATH
                        <Required> my dump path, the data compared with golden
                        data
  -g GOLDEN_DUMP_PATH, --golden_dump_path GOLDEN_DUMP_PATH
                        <Required> the golden dump path
  -out OUTPUT_PATH, --output OUTPUT_PATH
                        <Required> the output path
)~";

}  // namespace opdump::msaccucmp
