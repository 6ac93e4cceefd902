// A table from message tags to data about the message.
#pragma once

#include "comm/common/number_table.hpp"
#include "comm/transports/message_type.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// Tags that differ in no more than the type in them are the same here.
template <class T>
using TagTable = NumberTable<T, MessageTag, number_of_message>;

}  // namespace fastgpu::comm
