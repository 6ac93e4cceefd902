// ~/.ssh/authorized_keys with a line of ours in it, and without. Everything else in it is the
// owner's and stays as it is, byte for byte.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::agent {

/// A line of ours is "ssh-ed25519 AAAA... MARK"; the mark is its last word, and tells it from all
/// others. Pure.
std::string with_line(std::string_view text, std::string_view line);
std::string without_line(std::string_view text, std::string_view mark);

/// Throws what add_authorized_key would throw for lack of rights, and changes nothing.
void check_authorized_keys();

/// Makes the file and its directory where they are missing. Symbolic links, modes and owners stay;
/// whoever reads sees the old text or the new one. Nothing happens where the line is there.
/// Throws denied where the file is another's, and as system_error does.
void add_authorized_key(std::string_view line);

/// The file as it was before. Nothing happens where the line is gone.
void remove_authorized_key(std::string_view mark);

}  // namespace fastgpu::agent
