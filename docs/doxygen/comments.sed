# SPDX-License-Identifier: Apache-2.0
# The comments of the headers are plain. What Doxygen takes for a command is quoted, and the beginning of a comment is
# made what Doxygen looks for: /** before a declaration, /**< behind one, and \file for the comment that opens a file.
/SPDX-License-Identifier/d
/^#/!{
  /\/\*|^ \*|\*\//{
    s/([@\\#%&$])/\\\1/g
    s/<([A-Za-z\/])/\\<\1/g
    s/([A-Za-z0-9])>/\1\\>/g
  }
}
1,2s/^\/\* /\/** \\file\n * /
s/^( *)\/\* /\1\/** /
s/([;,{]|[A-Za-z0-9_)]) +\/\* /\1 \/**< /
