import { LinkButton } from '../components/links';
import { Message } from '../components/Message';
import { Page } from '../components/Page';

/** What an address that leads nowhere shows. */
export function NotFound() {
  return (
    <Page title="No such page">
      <Message
        title="There is nothing at this address."
        action={
          <LinkButton to="/" variant="default">
            Go to the first page
          </LinkButton>
        }
      />
    </Page>
  );
}
