"""Reads a page as a browser would, far enough to check it: tags, text, links, images."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags with their attributes, ids, and all text outside of style."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.tags, self.ids, self.words, self._open = [], [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in ("meta", "link", "img", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" not in self._open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def is_balanced(self):
        return not self._open

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]
