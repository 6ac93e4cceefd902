/// The headers of the standard library that most sources include, precompiled once for each target
/// that names this file as its `cpp_pch`. This only saves time: every source still includes what it
/// uses, which `./dev lint` and `-Db_pch=false` check.

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
