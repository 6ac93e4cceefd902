/// As standard.hpp, for targets most of whose sources read or write JSON.

#include <nlohmann/json.hpp>

#include "precompiled/standard.hpp"
